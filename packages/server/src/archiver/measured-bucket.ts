/** The store as the archiver uses it: every request timed, every failure counted and told. */
import { OrangeboxError } from '@orangebox/schema';
import type { BucketObject, ObjectBucket } from '@orangebox/store';
import type { ArchiverLog } from './log.ts';
import type { Room } from './memory.ts';
import type { ArchiverMetrics } from './metrics.ts';

/** What the archiver does with its store. Every method rejects as {@link ObjectBucket} does. */
export interface ArchiveBucket {
  read(name: string, maxBytes: number): Promise<Uint8Array | undefined>;
  stat(name: string): Promise<BucketObject | undefined>;
  /** Waits for one of the places for writes. */
  write(name: string, bytes: Uint8Array, onlyIfAbsent: boolean): Promise<'written' | 'exists'>;
  list(prefix: string, most: number): Promise<BucketObject[]>;
}

/** Who is told of what the store does, and its bounds. */
export interface MeasuredBucketHost {
  metrics: ArchiverMetrics;
  log: ArchiverLog;
  /** Told what became of each write: undefined, or the code of the store's failure. */
  wrote(code: string | undefined): void;
  /** Bounds the writes at once. */
  places: Room;
  /** Bounds each of them. */
  timeoutMs: number;
}

/** Wraps a bucket. */
export function measuredBucket(
  bucket: ObjectBucket,
  { metrics, log, wrote, places, timeoutMs }: MeasuredBucketHost,
): ArchiveBucket {
  const timed = async <T>(operation: 'write' | 'read' | 'list', work: () => Promise<T>): Promise<T> => {
    const startMs = performance.now();
    try {
      const done = await work();
      // That an object is there already says nothing of whether another would be taken.
      if (operation === 'write' && done === 'written') wrote(undefined);
      return done;
    } catch (error) {
      // Of an object that is too large the store has nothing to answer for.
      if (error instanceof OrangeboxError && !error.code.startsWith('OBX_STORE_')) throw error;
      const known = tellStoreFault(log, operation, error);
      metrics.storeError(known.code);
      if (operation === 'write') wrote(known.code);
      throw known;
    } finally {
      metrics.storeSeconds(operation, (performance.now() - startMs) / 1000);
    }
  };
  return {
    read: (name, maxBytes) => timed('read', () => bucket.read(name, maxBytes)),
    stat: (name) => timed('read', () => bucket.stat(name)),
    write: (name, bytes, onlyIfAbsent) =>
      places.run(1, () =>
        timed('write', () =>
          bucket.write(name, bytes, {
            onlyIfAbsent,
            contentType: name.endsWith('.json') ? 'application/json' : 'application/gzip',
            signal: AbortSignal.timeout(timeoutMs),
          }),
        ),
      ),
    list: (prefix, most) =>
      timed('list', async () => {
        const found: BucketObject[] = [];
        for await (const object of bucket.list(prefix)) {
          found.push(object);
          if (found.length >= most) break;
        }
        return found;
      }),
  };
}

/** Logs a failure of the store, and gives it as the coded error that it is or becomes. */
export function tellStoreFault(log: ArchiverLog, operation: string, error: unknown): OrangeboxError {
  const known = error instanceof OrangeboxError ? error : storeFailed(error);
  log.warn('store_failed', { code: known.code, message: known.message, hint: known.hint, operation });
  return known;
}

function storeFailed(cause: unknown): OrangeboxError {
  const isTimeout = cause instanceof Error && (cause.name === 'TimeoutError' || cause.name === 'AbortError');
  return isTimeout
    ? new OrangeboxError('OBX_STORE_UNREACHABLE', 'the store did not answer in time', { cause })
    : new OrangeboxError('OBX_STORE_FAILED', 'the store failed', { cause });
}
