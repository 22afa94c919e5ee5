/** Where a recorded run is run again: in a copy of the working directory, or in the directory itself. */
import { isAbsolute, join, relative, resolve } from 'node:path';
import { ContentStore, environmentKey, keyedContentHash, seeTree, signFiles } from '@orangebox/instrument/run';
import type { ReceiptFacts } from '@orangebox/replay';
import { isSoundDirectory, PathPair, type RecordedRun, recordedFiles } from '@orangebox/replay/process';
import { changedSince, type ComparedFile, type FileReader, writtenOtherwise } from './compare-files.ts';
import { makeScratchCopy } from './scratch-copy.ts';

/** What the user said of it. */
export interface PlaceOptions {
  /** In the directory itself: what the program writes is written there. */
  inPlace?: boolean;
  /** The copy is left where it is. */
  keep?: boolean;
  /** Contents of a recording that was not made here are used too. */
  trustFiles?: boolean;
}

/** What has to be known of the run. */
export interface PlaceRequest extends Omit<PlaceOptions, 'keep'> {
  cwd: string;
  /** Directory of recordings. */
  recordings: string;
  /** Of the main thread. */
  run: RecordedRun | undefined;
  /** Of every thread, the main one among them. */
  threads: readonly RecordedRun[];
  command: readonly string[];
  /** Directory of the replay's own files; a copy lies in it. */
  scratch: string;
}

/** The place. */
export interface ReplayPlace {
  cwd: string;
  command: readonly string[];
  /** What the program's preload is told. */
  plan: { copy?: string; copyOf?: readonly string[]; appliesFiles?: boolean; changedFiles?: readonly ComparedFile[] };
  facts: NonNullable<ReceiptFacts['files']>;
  /** Files that changed since the run was recorded. */
  changed: readonly string[];
  /** Files that were left otherwise than on record. */
  differences(): ComparedFile[];
}

/** Makes it. @throws OrangeboxError `OBX_REPLAY_COPY`, `OBX_REPLAY_ENTRY` */
export function makeReplayPlace(request: PlaceRequest): ReplayPlace {
  const { cwd, recordings, run, threads, command, scratch, inPlace, trustFiles } = request;
  if (inPlace === true || run === undefined) {
    return { cwd, command, plan: {}, facts: { isCopy: false, notes: [] }, changed: [], differences: () => [] };
  }
  const { start, files: states } = run;
  const files = recordedFiles(states ?? [], run.fileChanges);
  const recordedCwd = start.cwd !== undefined && isSoundDirectory(start.cwd) ? start.cwd : cwd;
  const isTrusted = trustFiles === true || areSigned(threads, recordings);
  const key = environmentKey(recordings);
  const keyedHash = (sha256: string): string => keyedContentHash(key, sha256);
  const store = isTrusted ? new ContentStore(recordings) : undefined;
  const copy = makeScratchCopy(
    { cwd, recordings, recordedCwd, files, store, keyedHash, entry: start.argv[0] },
    scratch,
  );
  const isUnused = !isTrusted && [...files.after.values()].some((file) => file !== undefined);
  const notes = [
    ...(isUnused ? ['the files of this recording were not used: they were not recorded here (--trust-files)'] : []),
    ...copy.notes,
  ];
  const known: FileReader = {
    root: cwd,
    keyedHash,
    paths: recordedCwd === cwd ? undefined : new PathPair(recordedCwd, cwd),
  };
  const changedFiles = changedSince(files, seeTree(cwd, [recordings]), known);
  // What is known of them is that they are others.
  const notBefore = copy.notRestored.map(({ path, sha256 = 'a content' }) => ({
    name: path,
    recorded: sha256,
    live: 'another',
  }));
  const reader: FileReader = {
    root: copy.root,
    original: cwd,
    keyedHash,
    paths: new PathPair(recordedCwd, copy.root, true),
  };
  return {
    cwd: copy.root,
    command: [...command.slice(0, 1), ...command.slice(1).map((word) => moved(word, cwd, copy.root))],
    plan: {
      copy: copy.root,
      copyOf: [...new Set([recordedCwd, cwd])],
      appliesFiles: isTrusted,
      changedFiles: [...changedFiles, ...notBefore],
    },
    facts: { isCopy: true, notes },
    changed: changedFiles.map(({ name }) => name),
    // Nothing can be said where nothing is on record.
    differences: () => (states === undefined ? [] : writtenOtherwise(files, copy.begun, reader)),
  };
}

/** A path in the directory, in its copy. */
function moved(word: string, from: string, to: string): string {
  if (!isAbsolute(word)) return word;
  const inside = relative(from, resolve(word));
  return inside === '..' || inside.startsWith('../') || isAbsolute(inside) ? word : join(to, inside);
}

/** Whether all that is said of files was recorded here: a program loads what it finds. Where nothing is said, nothing was. */
function areSigned(threads: readonly RecordedRun[], recordings: string): boolean {
  const said = threads.flatMap(({ start, files = [], fileChanges }) =>
    [...files, ...fileChanges].map((record) => ({ record, runId: start.runId })),
  );
  return (
    said.length > 0 &&
    said.every(({ record: { signature, ...record }, runId }) => {
      const own = signFiles(recordings, runId, record);
      return own !== undefined && own === signature;
    })
  );
}

/** The options of a command that are of the place. */
export function placeOptions({ inPlace, keep, trustFiles }: PlaceOptions): PlaceOptions {
  return {
    ...(inPlace === true ? { inPlace } : {}),
    ...(keep === true ? { keep } : {}),
    ...(trustFiles === true ? { trustFiles } : {}),
  };
}
