/** One clear line and a hint for every way a command can fail; a stack trace only with ORANGEBOX_DEBUG. */
import { codedError, EXIT, errnoOf, exitCodeOf } from './exit-codes.ts';
import type { Terminal } from './terminal.ts';
import { escapeLine, escapeText } from './text/escape.ts';

/** Writes the error to standard error and gives the exit code. */
export function reportError(error: unknown, terminal: Pick<Terminal, 'note' | 'errorColors'>, debug: boolean): number {
  const { message, hint, code } = explain(error);
  const c = terminal.errorColors;
  terminal.note(`${c.red('orangebox:')} ${escapeLine(message)}${code === undefined ? '' : c.dim(` [${code}]`)}`);
  if (hint !== undefined) terminal.note(`  ${c.dim('hint:')} ${escapeLine(hint)}`);
  if (debug && error instanceof Error) terminal.note(escapeText(c.dim(error.stack ?? String(error))));
  return exitCodeOf(error);
}

interface Explanation {
  message: string;
  hint?: string | undefined;
  code?: string | undefined;
}

function explain(error: unknown): Explanation {
  const coded = codedError(error);
  if (coded) return coded;
  const errno = errnoOf(error);
  const text = error instanceof Error ? error.message : String(error);
  if (exitCodeOf(error) !== EXIT.internal) return { message: text, hint: SYSTEM_HINTS[errno ?? ''], code: errno };
  return {
    message: `unexpected fault: ${text}`,
    hint: 'run it again with ORANGEBOX_DEBUG=1 for the stack trace, and report it',
    code: errno,
  };
}

const SYSTEM_HINTS: { readonly [errno: string]: string } = {
  ENOENT: 'check the path',
  EACCES: 'check who owns the file or directory: ls -ld PATH',
  EPERM: 'check who owns the file or directory: ls -ld PATH',
  ENOSPC: 'the disk is full: free some space, or remove recordings with orangebox purge',
  EROFS: 'the file system is read-only: name another place',
  EEXIST: 'a file stands where a directory is needed: name another place',
  ENOTDIR: 'a file stands where a directory is needed: name another place',
  EADDRINUSE: 'the port is taken: name another with --port, or leave it out',
};
