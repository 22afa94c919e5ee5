/** Exit codes of the `orangebox` command; `docs/cli.md` has the same table. */
import { OrangeboxError } from '@orangebox/schema';

/** Exit code by outcome. `orangebox run` is the exception: it ends as its child ended. */
export const EXIT = {
  ok: 0,
  /** A finding: `diff` and `resend` saw a difference, `doctor` a problem, `replay` other bytes. */
  finding: 1,
  usage: 2,
  notFound: 3,
  damaged: 4,
  unreadable: 5,
  refused: 6,
  network: 7,
  /** A fault of Orangebox itself. */
  internal: 70,
} as const;

const BY_AREA: readonly (readonly [pattern: RegExp, code: number])[] = [
  [/USAGE|ARGUMENT|OPTION|AMBIGUOUS|INVALID_(?:TIME|REFERENCE)|BAD_REFERENCE/, EXIT.usage],
  [/NOT_FOUND|NO_MATCH|UNKNOWN_REFERENCE|NO_RECORDING|NOTHING|LOST|NOT_ARRIVED/, EXIT.notFound],
  [/REFUSED|UNSAFE|FOREIGN_HOST|CREDENTIAL|EFFECTS|CONFIRM|EXISTS|SECRET|NOT_ALLOWED|HOST/, EXIT.refused],
  [/UNREADABLE|PERMISSION|FORBIDDEN|NOT_WRITABLE|UNWRITABLE|OWNER|ACCESS/, EXIT.unreadable],
  [/DAMAGED|DIGEST|VERSION|CORRUPT|TORN|TRUNCATED|FORMAT|NOT_A_|INVALID|PARTS|TOO_LARGE|LIMIT|SCHEMA/, EXIT.damaged],
  [/NETWORK|PROVIDER|CONNECT|TIMEOUT|HTTP/, EXIT.network],
];

const UNREADABLE_ERRNO = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EISDIR', 'ENOSPC', 'EMFILE', 'EIO', 'ELOOP']);
const NETWORK_ERRNO = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'ETIMEDOUT', 'EAI_AGAIN', 'EADDRINUSE']);

/** The exit code that an error ends the command with. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof OrangeboxError) {
    const what = error.code.slice('OBX_'.length);
    return BY_AREA.find(([pattern]) => pattern.test(what))?.[1] ?? EXIT.internal;
  }
  const code = errnoOf(error);
  if (code === 'ENOENT') return EXIT.notFound;
  if (code !== undefined && UNREADABLE_ERRNO.has(code)) return EXIT.unreadable;
  if (code !== undefined && NETWORK_ERRNO.has(code)) return EXIT.network;
  return EXIT.internal;
}

/** The `code` of a system error, also of its cause. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return code ?? errnoOf(error.cause);
}
