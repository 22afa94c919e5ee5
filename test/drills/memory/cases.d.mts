/** A program without and with Orangebox. */
export interface MemoryCase {
  name: string;
  args(url: string): string[];
  receiver(url: string): Promise<{ env: Record<string, string>; close(): Promise<void> }>;
}

/** How a program ended, and its memory at its highest. */
export interface WatchedRun {
  code: number | null;
  stdout: string;
  stderr: string;
  seconds: number;
  peakBytes: number;
}

export const ADDED_MAX_BYTES: number;
export function memoryCases(size: { bytes: number; calls: number }): MemoryCase[];
export function measureCase(
  one: MemoryCase,
  url: string,
): Promise<{ without: WatchedRun; withIt: WatchedRun; addedBytes: number; wrong: string[] }>;
