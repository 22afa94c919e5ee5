/** A copy of the working directory in which a recorded run begins again, as the directory was when it began first. */
import { copyFileSync, constants, chmodSync, lstatSync, mkdirSync, symlinkSync, utimesSync } from 'node:fs';
import { basename, dirname, join, parse, relative, sep } from 'node:path';
import { type ContentStore, readContent, type SeenTree, seeTree } from '@orangebox/instrument/run';
import { placeFile, type RecordedFiles, targetWithin } from '@orangebox/replay/process';
import { type FileState, OrangeboxError } from '@orangebox/schema';

/** Larger directories are replayed in place. */
const MAX_COPY_BYTES = 4 * 1024 * 1024 * 1024;
const MODULES = 'node_modules';
const MAX_NOTES = 20;

/** What is copied, and what is known of it. */
export interface CopySource {
  /** The working directory. */
  cwd: string;
  /** Directory of recordings, which is not copied. */
  recordings: string;
  /** Working directory of the recorded run. */
  recordedCwd: string;
  files: RecordedFiles;
  /** Contents on record; undefined where they are not to be trusted: all files are as they are now. */
  store: ContentStore | undefined;
  /** Hash of a file that may hold a secret, as recordings have it. */
  keyedHash: (sha256: string) => string;
  /** Path of the program's entry file, relative to the working directory. */
  entry: string | undefined;
}

/** The copy. */
export interface ScratchCopy {
  root: string;
  /** What lies in it before the program begins. */
  begun: SeenTree;
  /** Files that the run changed, and that are not what they were before. */
  notRestored: FileState[];
  /** What is to be said of it. */
  notes: string[];
}

/**
 * Makes the copy below a directory. Files that the run changed are as they were before it, if the recording is to be trusted;
 * all others are as they are now.
 *
 * @throws OrangeboxError `OBX_REPLAY_COPY`, `OBX_REPLAY_ENTRY`
 */
export function makeScratchCopy(source: CopySource, below: string): ScratchCopy {
  const { cwd, recordings, files, store } = source;
  const notes: string[] = [];
  const notRestored: FileState[] = [];
  const note = (text: string): void => void (notes.length < MAX_NOTES && notes.push(text));
  const root = makeRoot(cwd, below);
  const tree = seeTree(cwd, [recordings]);
  if (!tree.isWhole)
    note('not all files of the working directory were copied: there are too many; --in-place does without a copy');
  let sizeBytes = 0;
  for (const [path, { type, mode, target, sizeBytes: size }] of tree.entries) {
    // Who wrote a recording does not decide what is not there.
    if (store && files.before.has(path)) continue;
    sizeBytes += size;
    if (sizeBytes > MAX_COPY_BYTES) throw tooLarge();
    if (type === 'link') {
      const place = { root, recordedRoot: cwd };
      const inside = targetWithin(place, path, target ?? '');
      if (inside === undefined) note(`not copied: ${path} leads out of the working directory`);
      else makeLink(join(root, path), inside);
    } else if (type === 'directory') mkdirSync(join(root, path), { recursive: true, mode: mode | 0o700 });
    else if (!copied(join(cwd, path), join(root, path), mode)) note(`not copied: ${path}`);
  }
  for (const [path, state] of files.before) {
    if (!state) {
      if (!store && tree.entries.has(path)) note(`not as it was before the run: ${path}`);
    } else if (!restored(state, source, root, tree)) {
      if (state.path === source.entry) {
        throw new OrangeboxError(
          'OBX_REPLAY_ENTRY',
          `what ${state.path} held before the run changed it is not on record`,
          {
            hint: 'replay it as it is now with --in-place',
          },
        );
      }
      notRestored.push(state);
      note(`not as it was before the run: ${state.path}`);
    }
  }
  for (const [path, { type }] of [['', { type: 'directory' }] as const, ...tree.entries]) {
    if (type === 'directory') linkModules(join(cwd, path), join(root, path));
  }
  return { root, begun: seeTree(root), notRestored, notes };
}

/** As deep as the original: what programs look for in directories above is found there. */
function makeRoot(cwd: string, below: string): string {
  const { root: top } = parse(cwd);
  const names = relative(top, cwd)
    .split(sep)
    .filter((name) => name !== '');
  if (names.length === 0) throw tooLarge();
  let original = top;
  let copy = join(below, 'copy');
  mkdirSync(copy, { mode: 0o700 });
  names.forEach((name, depth) => {
    linkModules(original, copy);
    copied(join(original, 'package.json'), join(copy, 'package.json'), 0o600);
    original = join(original, name);
    // Only its own name says anything to a program.
    copy = join(copy, depth === names.length - 1 ? basename(cwd) : String(depth));
    mkdirSync(copy, { mode: 0o700 });
  });
  return copy;
}

/** What is installed is not copied. */
function linkModules(original: string, copy: string): void {
  const there = lstatSync(join(original, MODULES), { throwIfNoEntry: false });
  if (there && lstatSync(copy, { throwIfNoEntry: false })?.isDirectory()) {
    makeLink(join(copy, MODULES), join(original, MODULES));
  }
}

function makeLink(path: string, target: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync(target, path, 'junction');
  } catch {
    // A system without links has none in its files either.
  }
}

function copied(from: string, to: string, mode: number): boolean {
  try {
    const stats = lstatSync(from);
    if (!stats.isFile()) return false;
    mkdirSync(dirname(to), { recursive: true });
    copyFileSync(from, to, constants.COPYFILE_FICLONE);
    chmodSync(to, mode);
    utimesSync(to, stats.atime, stats.mtime);
    return true;
  } catch {
    return false;
  }
}

/** Puts back what was there before the run. */
function restored(state: FileState, source: CopySource, root: string, tree: SeenTree): boolean {
  const { cwd, recordedCwd, store, keyedHash } = source;
  const { path, type, sha256 } = state;
  const now = tree.entries.get(path);
  if (store === undefined) {
    return type === 'file' ? isPresent(state, source, tree) : now?.type === type && now.target === state.target;
  }
  if (type === 'file' && isPresent(state, source, tree)) return copied(join(cwd, path), join(root, path), state.mode);
  const place = { root, recordedRoot: recordedCwd, read: (wanted: string) => store.read(wanted) };
  if ((type !== 'file' || sha256 !== undefined) && placeFile(place, state)) return true;
  // Better what is there now than nothing; it is told.
  if (now?.type === 'file') copied(join(cwd, path), join(root, path), now.mode);
  return false;

  function isPresent(wanted: FileState, { cwd: from }: CopySource, { entries }: SeenTree): boolean {
    if (entries.get(wanted.path)?.type !== 'file') return false;
    const content = readContent(join(from, wanted.path));
    if (!content) return false;
    return wanted.keyedHash === undefined
      ? content.sha256 === wanted.sha256
      : keyedHash(content.sha256) === wanted.keyedHash;
  }
}

function tooLarge(): OrangeboxError {
  return new OrangeboxError('OBX_REPLAY_COPY', 'the working directory is too large to be copied', {
    hint: 'replay in the directory itself with --in-place; what the program writes is written there',
  });
}
