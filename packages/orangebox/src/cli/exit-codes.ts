/** Exit codes of the `orangebox` command; `docs/cli.md` has the same table. */
import { OrangeboxError } from '@orangebox/schema';

/** Exit code by outcome. `orangebox run` is the exception: it ends as its child ended. */
export const EXIT = {
  ok: 0,
  /** A finding: `diff` and `resend` saw a difference, `doctor` a problem, `replay` another request. */
  finding: 1,
  usage: 2,
  notFound: 3,
  damaged: 4,
  unreadable: 5,
  refused: 6,
  network: 7,
  /* What a replay of a whole run came to; `VERDICT_EXIT_CODE` of @orangebox/replay has the same. */
  /** The program went another way. */
  diverged: 10,
  /** It asked for what is on record, and gave another output, exit code or file. */
  outputDiffers: 11,
  /** Recorded requests were never asked for. */
  incomplete: 12,
  nothingServed: 13,
  wrongProgram: 14,
  wrongRuntime: 15,
  /** Something really went out, or a process was really started. */
  notSealed: 16,
  /** A fault of Orangebox itself. */
  internal: 70,
} as const;

/** The first pattern that fits decides; areas stand after their exceptions. */
const BY_CODE: readonly (readonly [pattern: RegExp, code: number])[] = [
  [/^OBX_CLI_/, EXIT.usage],
  [/^OBX_REF_(?:UNKNOWN|NOTHING_RECORDED)$/, EXIT.notFound],
  [/^OBX_REF_/, EXIT.usage],
  [/^OBX_STORE_(?:SINCE_REQUIRED|NOT_CONFIGURED|URL)$|^OBX_SOURCE_URL$|^OBX_CONFIG_INVALID$/, EXIT.usage],
  [/^OBX_RECOVER_/, EXIT.unreadable],
  [/_NOT_FOUND$|^OBX_SNAPSHOT_(?:LOST|NOT_KEPT|NOT_ARRIVED)$/, EXIT.notFound],
  [/^OBX_(?:STORE|SOURCE)_UNREACHABLE$/, EXIT.network],
  [/^OBX_SOURCE_DENIED$/, EXIT.unreadable],
  [/^OBX_SOURCE_/, EXIT.network],
  [/_(?:UNREADABLE|NOT_WRITABLE)$|^OBX_STORE_/, EXIT.unreadable],
  [/^OBX_RUN_COMMAND_REFUSED$/, EXIT.refused],
  [/^OBX_(?:SEGMENT|SNAPSHOT|KEY|JSON|BODY|INDEX|RUN)_/, EXIT.damaged],
  [/^OBX_(?:SERVE|ARCHIVE|PAGE)_PORT$/, EXIT.network],
  [/^OBX_ARCHIVE_/, EXIT.usage],
  [/^OBX_REPLAY_(?:NO_|SDK_LOAD)/, EXIT.notFound],
  [/^OBX_REPLAY_TIMEOUT$/, EXIT.incomplete],
  [/^OBX_RESEND_NO_REQUEST$/, EXIT.notFound],
  [/^OBX_(?:RESEND|REPLAY|SERVE|CONFIRM|FILE|CURL)_/, EXIT.refused],
];

const UNREADABLE_ERRNO = new Set([
  'EACCES',
  'EPERM',
  'EROFS',
  'EEXIST',
  'ENOTDIR',
  'EISDIR',
  'ENOSPC',
  'EMFILE',
  'EIO',
  'ELOOP',
]);
const NETWORK_ERRNO = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'ETIMEDOUT', 'EAI_AGAIN', 'EADDRINUSE']);

/**
 * The error with a code of ours that this is; undefined when it is none. A package that is loaded by itself, such as the
 * recorder's recovery, has a class of its own for them: the code says what it is.
 */
export function codedError(error: unknown): { code: string; message: string; hint?: string | undefined } | undefined {
  if (error instanceof OrangeboxError) return error;
  if (!(error instanceof Error)) return undefined;
  const { code, hint } = error as { code?: unknown; hint?: unknown };
  if (typeof code !== 'string' || !/^OBX_[A-Z0-9_]+$/.test(code)) return undefined;
  return { code, message: error.message, ...(typeof hint === 'string' ? { hint } : {}) };
}

/** The exit code that an error ends the command with. */
export function exitCodeOf(error: unknown): number {
  const coded = codedError(error);
  if (coded) return BY_CODE.find(([pattern]) => pattern.test(coded.code))?.[1] ?? EXIT.internal;
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
