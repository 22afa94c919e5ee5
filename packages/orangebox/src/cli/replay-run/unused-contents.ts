/** Contents of files that no recorded run needs any more. */
import { ContentStore } from '@orangebox/instrument/run';
import { findRuns, readRun } from '@orangebox/replay/process';

/** A run that is being recorded may have kept a content, and not written yet what it is of. */
const UNWRITTEN_MS = 600_000;

/** Removes them; gives the bytes that were freed. Nothing where a run cannot be read, since it may need any. */
export function removeUnusedContents(directory: string, nowMs: number): number {
  const named = new Set<string>();
  let isAnyOpen = false;
  try {
    for (const { threads } of findRuns(directory)) {
      for (const { files } of threads) {
        const { files: states = [], fileChanges, end } = readRun(files);
        if (end === undefined) isAnyOpen = true;
        for (const record of states) for (const { sha256 } of record.files) if (sha256) named.add(sha256);
        for (const { changes } of fileChanges) {
          for (const { file } of changes) if (file.sha256) named.add(file.sha256);
        }
      }
    }
  } catch {
    return 0;
  }
  return new ContentStore(directory).removeOthers(named, isAnyOpen ? nowMs - UNWRITTEN_MS : Number.POSITIVE_INFINITY);
}
