/** Files beside what is on record of them: before a replay begins, and after it. */
import { join } from 'node:path';
import { readContent, type SeenEntry, type SeenTree, seeTree, sha256Of } from '@orangebox/instrument/run';
import type { PathPair, RecordedFiles } from '@orangebox/replay/process';
import type { FileState } from '@orangebox/schema';

/** A fact on record beside the live one, as receipts and divergences have them. */
export interface ComparedFile {
  name: string;
  recorded?: string;
  live?: string;
}

/** Differences that are told. */
const MAX_TOLD = 50;

/** How the files are read. */
export interface FileReader {
  root: string;
  /** What the root is a copy of. */
  original?: string;
  /** Hash of a file that may hold a secret, as recordings have it. */
  keyedHash: (sha256: string) => string;
  /** Where paths in contents are others. */
  paths?: PathPair | undefined;
}

/** Files that the run did not change, and that are no longer what they were when it began. */
export function changedSince(files: RecordedFiles, tree: SeenTree, reader: FileReader): ComparedFile[] {
  const told: ComparedFile[] = [];
  for (const [path, state] of files.start) {
    if (files.before.has(path) || told.length >= MAX_TOLD) continue;
    const difference = compare(path, state, tree.entries.get(path), reader);
    if (difference) told.push(difference);
  }
  return told;
}

/** Files that the program and its child processes left otherwise than on record. `begun`: what was there before. */
export function writtenOtherwise(files: RecordedFiles, begun: SeenTree, reader: FileReader): ComparedFile[] {
  const { entries } = seeTree(reader.root);
  const touched = new Set(files.after.keys());
  for (const [path, { stamp }] of entries) if (begun.entries.get(path)?.stamp !== stamp) touched.add(path);
  for (const path of begun.entries.keys()) if (!entries.has(path)) touched.add(path);
  const told: ComparedFile[] = [];
  for (const path of [...touched].sort()) {
    if (told.length >= MAX_TOLD) break;
    const live = entries.get(path);
    // What the recorded run left alone may be another file now: it should be the same one still.
    if (!files.after.has(path) && live?.type === 'file' && isAsInOriginal(path, reader)) continue;
    const state = files.after.has(path) ? files.after.get(path) : files.start.get(path);
    const difference = compare(path, state, live, reader);
    if (difference) told.push(difference);
  }
  return told;
}

function compare(
  path: string,
  recorded: FileState | undefined,
  live: SeenEntry | undefined,
  reader: FileReader,
): ComparedFile | undefined {
  const was = recorded && said(recorded);
  const is = live && saidLive(path, live, recorded, reader);
  if (was === is) return undefined;
  return { name: path, ...(was === undefined ? {} : { recorded: was }), ...(is === undefined ? {} : { live: is }) };
}

function isAsInOriginal(path: string, { root, original }: FileReader): boolean {
  if (original === undefined) return false;
  const was = readContent(join(original, path))?.sha256;
  return was !== undefined && was === readContent(join(root, path))?.sha256;
}

function said({ type, sha256, keyedHash, sizeBytes, target }: FileState): string {
  if (type === 'directory') return 'a directory';
  if (type === 'link') return `a link to ${target ?? ''}`;
  return sha256 ?? keyedHash ?? `${sizeBytes ?? 0} bytes`;
}

/** In the terms in which the recording speaks of it. */
function saidLive(path: string, live: SeenEntry, recorded: FileState | undefined, reader: FileReader): string {
  if (live.type === 'directory') return 'a directory';
  if (live.type === 'link') return `a link to ${reader.paths?.toRecorded(live.target ?? '') ?? live.target ?? ''}`;
  if (recorded?.type === 'file' && recorded.sha256 === undefined && recorded.keyedHash === undefined) {
    return `${live.sizeBytes} bytes`;
  }
  const content = readContent(join(reader.root, path));
  if (!content) return 'a file that cannot be read';
  const hashOf = (sha256: string): string => (recorded?.keyedHash === undefined ? sha256 : reader.keyedHash(sha256));
  const plain = hashOf(content.sha256);
  const wanted = recorded?.keyedHash ?? recorded?.sha256;
  if (plain === wanted || !reader.paths || !content.bytes) return plain;
  const mapped = hashOf(sha256Of(reader.paths.bytesToRecorded(content.bytes)));
  return mapped === wanted ? mapped : plain;
}
