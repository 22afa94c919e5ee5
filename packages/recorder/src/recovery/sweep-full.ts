/** Room in a directory that a program found full, made by those who have the time: its programs may be too short-lived. */
import * as fs from 'node:fs';
import { readFullMark, removeFullMark, writeFullMark } from '../retention/full-mark.ts';
import { noLosses, type SweepLosses } from '../retention/losses.ts';
import { Sweeper } from '../retention/sweep.ts';
import { rotateBytesOf, thresholdsOf } from '../retention/thresholds.ts';
import { nowMs } from '../timers.ts';

/** How often a sidecar looks for the mark. */
const LOOK_MS = 10_000;
/** A bound that no program has: nothing is removed for it. */
const MIN_DIR_BYTES = 32 * 1024;

/** Calls and tool executions that went. */
export interface SweptCounts {
  /** Those that no endpoint had acknowledged. */
  unsent: number;
  sent: number;
}

/**
 * One sweep, down to the bound of the program that found the directory full; nothing where none did.
 * Rejects where claims can't be written.
 */
export async function sweepFullDirectory(dir: string): Promise<SweptCounts> {
  // The pauses of a sweep hold no process.
  const alive = setInterval(() => undefined, 60_000);
  try {
    return await sweepFull(dir);
  } finally {
    clearInterval(alive);
  }
}

async function sweepFull(dir: string): Promise<SweptCounts> {
  const losses: SweepLosses = noLosses();
  const mark = readFullMark(dir, fs);
  if (mark?.dirBytes !== undefined && mark.dirBytes >= MIN_DIR_BYTES) {
    const { dirBytes } = mark;
    const thresholds = thresholdsOf(dirBytes);
    const result = await new Sweeper().sweep(
      {
        dir,
        // Programs that ended before they knew may have gone beyond: a file is rewritten all the same.
        maxBytes: Math.max(dirBytes, (mark.usedBytes ?? dirBytes) + rotateBytesOf(dirBytes)),
        triggerBytes: thresholds.triggerBytes,
        targetBytes: thresholds.targetBytes,
        // How long recordings are kept only their programs know.
        maxAgeMs: undefined,
        own: undefined,
        keepFromN: () => 0,
        writtenBytes: () => 0,
        onSize: () => {},
        onLosses: () => {},
      },
      nowMs(),
    );
    Object.assign(losses, result.losses);
    if (result.totalBytes <= thresholds.triggerBytes) removeFullMark(dir, fs);
    else if (!result.isBusy) writeFullMark(dir, result.totalBytes, dirBytes, fs);
  }
  const { unsent, sent } = losses.dir_bytes;
  return { unsent, sent };
}

/** Sweeps now and whenever a program finds the directory full, until the signal; holds no process after it. Never rejects. */
export async function sweepWhileFull(
  dir: string,
  signal: AbortSignal,
  { onSwept, onFault }: { onSwept(counts: SweptCounts): void; onFault(error: unknown): void },
): Promise<void> {
  while (!signal.aborted) {
    try {
      const counts = await sweepFull(dir);
      if (counts.unsent + counts.sent > 0) onSwept(counts);
    } catch (error) {
      onFault(error);
    }
    if (!signal.aborted) await pause(signal);
  }
}

function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, LOOK_MS);
    signal.addEventListener('abort', done);
  });
}
