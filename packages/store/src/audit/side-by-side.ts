/** Work on many items at once, bounded in number and in bytes. */

/** Bounds of {@link sideBySide}. */
export interface SideBySideLimits {
  /** Items at once. */
  concurrency: number;
  /** Bytes at once, by what `bytesOf` says; an item above it runs alone. */
  maxBytes: number;
}

/**
 * Runs `work` on every item, begun in order. The first rejection stops it and is what it rejects with, after what was
 * begun has ended.
 */
export async function sideBySide<T>(
  items: AsyncIterable<T>,
  limits: SideBySideLimits,
  bytesOf: (item: T) => number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>();
  let bytes = 0;
  const failures: unknown[] = [];
  for await (const item of items) {
    const size = bytesOf(item);
    while (running.size > 0 && (running.size >= limits.concurrency || bytes + size > limits.maxBytes)) {
      await Promise.race(running);
    }
    if (failures.length > 0) break;
    bytes += size;
    const task: Promise<void> = work(item)
      .catch((error: unknown) => void failures.push(error))
      .finally(() => {
        bytes -= size;
        running.delete(task);
      });
    running.add(task);
  }
  await Promise.all(running);
  if (failures.length > 0) throw failures[0];
}
