/** What a recording may say of files. It may be made to write elsewhere, or to have something run later. */
import { posix } from 'node:path';
import type { FileChange, FileState } from '@orangebox/schema';

const PATH_MAX = 4096;
const MODE_MAX = 0o777;
const SHA256 = /^[0-9a-f]{64}$/;
/** Of git nothing is written but which branch a work tree is on: a hook would run with the next command. */
const GIT_HEAD = '.git/HEAD';

/** Whether a state is one that a program's directory can have and a replay may give it. */
export function isSoundFile({ path, mode, type, sha256, target }: FileState): boolean {
  return (
    isSoundPath(path, type) &&
    mode <= MODE_MAX &&
    (sha256 === undefined || SHA256.test(sha256)) &&
    (target === undefined || (type === 'link' && target.length <= PATH_MAX && !target.includes('\0')))
  );
}

/** Whether a change is. */
export function isSoundChange({ file }: FileChange): boolean {
  return isSoundFile(file);
}

/** Whether the content is one that a file of git's own may have. */
export function isSoundContent(path: string, bytes: Uint8Array): boolean {
  if (path !== GIT_HEAD) return true;
  return /^(?:ref: refs\/[\w./-]{1,250}|[0-9a-f]{40,64})\n?$/.test(Buffer.from(bytes).toString('latin1'));
}

function isSoundPath(path: string, type: FileState['type']): boolean {
  if (path === '' || path.length > PATH_MAX || path.includes('\0') || path.includes('\\')) return false;
  if (posix.isAbsolute(path) || posix.normalize(path) !== path || /^[a-z]:/i.test(path)) return false;
  const names = path.split('/');
  if (names.some((name) => name === '' || name === '.' || name === '..' || /^node_modules$/i.test(name))) return false;
  // Names that some file systems take for `.git`.
  const isGit = names.some((name) => /^(?:\.git|git~\d+)[. ]*$/i.test(name.replaceAll(/[^\x20-\x7e]/g, '')));
  return !isGit || (path === '.git' && type === 'directory') || (path === GIT_HEAD && type === 'file');
}
