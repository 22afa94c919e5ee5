/** What a sweep is asked for, and what it answers. */
import type { SegmentFileId } from '@orangebox/schema';
import type { SweepLosses } from './losses.ts';

/** What is to be kept within which bounds. */
export interface SweepScope {
  dir: string;
  /** Nothing may make the directory larger than this, a file that is written beside its place included. */
  maxBytes: number;
  /** From here on room is made. */
  triggerBytes: number;
  /** From here on the directory is full: what the oldest files hold goes first, before others are read. None by default. */
  bodyBytes?: number;
  /** So much stays then. */
  targetBytes: number;
  /** Calls whose last record is older go; undefined: no bound. */
  maxAgeMs: number | undefined;
  /** The series that this thread writes. */
  own: Omit<SegmentFileId, 'n'> | undefined;
  /** Its files from this number on are open or still read from. */
  keepFromN(): number;
  /** Bytes that this thread has written so far, to any file. */
  writtenBytes(): number;
  /** Recordings are lost until room is made: longer slices, shorter pauses. Absent: it is never urgent. */
  isUrgent?(): boolean;
  /** The directory has this size, a file beside its place included, when this thread had written so much. */
  onSize(totalBytes: number, atWrittenBytes: number): void;
  /** These calls went. */
  onLosses(losses: SweepLosses): void;
}

/** What a sweep found and did. */
export interface SweepResult {
  /** Bytes of all files, afterwards; without what was written meanwhile. */
  totalBytes: number;
  freedBytes: number;
  losses: SweepLosses;
  /** Somebody else sweeps the directory. */
  isBusy: boolean;
  /** Files that could not be rewritten, with the first reason. */
  failures: { count: number; message: string };
  /** The longest time that the main thread was held, and all of it. */
  longestSliceMs: number;
  usedMs: number;
}
