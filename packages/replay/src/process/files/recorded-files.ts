/** What a recording says of the working directory: how it was before, and how it was left. */
import type { FilesChangedRecord, FileState, RunFilesRecord } from '@orangebox/schema';
import { inOrder } from './applied-files.ts';

/** The files of a run. */
export interface RecordedFiles {
  /** When the run began, by path. */
  start: ReadonlyMap<string, FileState>;
  /** Paths of what it changed, made or took away: as it was before; undefined: it was not there. */
  before: ReadonlyMap<string, FileState | undefined>;
  /** The same paths, as the run left them. */
  after: ReadonlyMap<string, FileState | undefined>;
}

/** Puts the records together. */
export function recordedFiles(
  starts: readonly RunFilesRecord[],
  records: readonly FilesChangedRecord[],
): RecordedFiles {
  const start = new Map(starts.flatMap(({ files }) => files).map((file) => [file.path, file]));
  const before = new Map<string, FileState | undefined>();
  const after = new Map<string, FileState | undefined>();
  for (const { changes } of records) {
    for (const { kind, file } of inOrder(changes)) {
      if (!before.has(file.path)) before.set(file.path, start.get(file.path));
      after.set(file.path, kind === 'deleted' ? undefined : file);
    }
  }
  return { start, before, after };
}
