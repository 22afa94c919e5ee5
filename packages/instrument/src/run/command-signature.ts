/** Tells the command of a run that was recorded here from one that somebody wrote into a recording. */
import { createHmac } from 'node:crypto';
import * as fs from 'node:fs';
import { join } from 'node:path';

const KEY_FILE = 'environment.key';
const KEY_BYTES = 32;
/** So that no other hash with this key is taken for one of these. */
const PURPOSE = 'orangebox.command/1';

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
  const path = join(directory, KEY_FILE);
  try {
    const { mode, uid, ino, birthtimeNs } = fs.lstatSync(path, { bigint: true });
    const isFile = (Number(mode) & fs.constants.S_IFMT) === fs.constants.S_IFREG;
    const isPrivate = process.platform === 'win32' || (Number(mode) & 0o077) === 0;
    if (!isFile || !isPrivate || (process.getuid && Number(uid) !== process.getuid())) return undefined;
    const key = fs.readFileSync(path);
    if (key.length !== KEY_BYTES) return undefined;
    const { runId, cwd, execPath, argv, execArgv } = command;
    const signed = [PURPOSE, String(ino), String(birthtimeNs), runId, cwd, execPath, argv, execArgv];
    return createHmac('sha256', key).update(JSON.stringify(signed)).digest('hex');
  } catch {
    return undefined;
  }
}
