/** Tells what was recorded here from what somebody wrote into a recording: the command of a run, and its files. */
import { createHmac } from 'node:crypto';
import * as fs from 'node:fs';
import { join } from 'node:path';
import type { FilesChangedRecord, RunFilesRecord } from '@orangebox/schema';

/** The key of a directory of recordings, which is in no recording. */
export const KEY_FILE = 'environment.key';
export const KEY_BYTES = 32;
/** So that no other hash with this key is taken for one of these. */
const PURPOSE = 'orangebox.command/1';
const FILES_PURPOSE = 'orangebox.files/1';

/** What is signed. */
export interface SignedCommand {
  runId: string;
  /** Absolute path of the working directory. */
  cwd: string;
  execPath: string;
  argv: readonly string[];
  execArgv: readonly string[];
}

/**
 * The signature of a command by the key in a directory of recordings. Undefined where there is no such key that is this
 * user's alone. The key's own file goes into it: a key that came with a recording, as from an archive, signs nothing.
 */
export function signCommand(directory: string, command: SignedCommand): string | undefined {
  const { runId, cwd, execPath, argv, execArgv } = command;
  return signed(directory, [PURPOSE, runId, cwd, execPath, argv, execArgv]);
}

/** The signature of what a record says of files, in the same way: a program may load what a replay puts there. */
export function signFiles(
  directory: string,
  runId: string,
  record: RunFilesRecord | FilesChangedRecord,
): string | undefined {
  const said = record.type === 'runFiles' ? record.files : record.changes;
  const child = record.type === 'runFiles' ? null : (record.child ?? null);
  return signed(directory, [FILES_PURPOSE, runId, record.type, child, said]);
}

function signed(directory: string, parts: readonly unknown[]): string | undefined {
  const path = join(directory, KEY_FILE);
  try {
    const { mode, uid, ino, birthtimeNs } = fs.lstatSync(path, { bigint: true });
    const isFile = (Number(mode) & fs.constants.S_IFMT) === fs.constants.S_IFREG;
    const isPrivate = process.platform === 'win32' || (Number(mode) & 0o077) === 0;
    if (!isFile || !isPrivate || (process.getuid && Number(uid) !== process.getuid())) return undefined;
    const key = fs.readFileSync(path);
    if (key.length !== KEY_BYTES) return undefined;
    const [purpose, ...rest] = parts;
    const all = [purpose, String(ino), String(birthtimeNs), ...rest];
    return createHmac('sha256', key).update(JSON.stringify(all)).digest('hex');
  } catch {
    return undefined;
  }
}
