/** Where the archiver's rows of the index go. */
import type { Snapshot } from '@orangebox/schema';

/** Takes what was verified; writes rows beside the answers. */
export interface IndexSink {
  /** Rows that are not written yet. */
  readonly pending: number;
  add(snapshot: Snapshot, sizeBytes: number): void;
  /** Told of rows that were written or given up. */
  onSettled(listener: (outcome: 'written' | 'dropped', count: number) => void): void;
  /** Writes what is left. Never rejects. */
  close(): Promise<void>;
}
