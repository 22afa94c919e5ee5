/** From an error on the wire to the word for how the exchange ended. */
import type { Ending, Stage } from '@orangebox/schema';
import { abortOrigin, type Frame } from './abort-origin.ts';

const TIMEOUT_CODES: ReadonlySet<string> = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'ETIMEDOUT',
  'ESOCKETTIMEDOUT',
  'ERR_HTTP_REQUEST_TIMEOUT',
]);
const CLOSED_CODES: ReadonlySet<string> = new Set([
  'UND_ERR_SOCKET',
  'ECONNRESET',
  'EPIPE',
  'ECONNABORTED',
  'UND_ERR_INFO',
  'ERR_STREAM_PREMATURE_CLOSE',
  'HPE_INVALID_EOF_STATE',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
  'ERR_HTTP2_STREAM_ERROR',
  'ERR_HTTP2_SESSION_ERROR',
]);
const ABORT_CODES: ReadonlySet<string> = new Set([
  'UND_ERR_ABORTED',
  'UND_ERR_DESTROYED',
  'UND_ERR_CLOSED',
  'ABORT_ERR',
]);

/** What the tap knows when an exchange fails. */
export interface Failure {
  error: unknown;
  stage: Stage;
  /** The program tore the exchange down; `frames` is the stack of that moment, innermost first. */
  aborted?: { frames: readonly Frame[]; reason: unknown } | undefined;
  /** A `timeout` event was seen before it. */
  timedOut?: boolean;
}

/** The word for a failure. An abort by the program is told by what the tap saw, never by the text of an error. */
export function endingOf(failure: Failure): Ending {
  const { error, stage, aborted } = failure;
  if (aborted) {
    if (failure.timedOut || isTimeout(aborted.reason) || isTimeout(error)) return 'timeout';
    return abortOrigin(aborted.frames);
  }
  if (isTimeout(error)) return 'timeout';
  const code = codeOf(error);
  if (code !== undefined && ABORT_CODES.has(code)) return 'caller_abort';
  if (nameOf(error) === 'AbortError') return 'caller_abort';
  if (stage === 'connect') return 'connect_failed';
  if (code !== undefined && CLOSED_CODES.has(code)) {
    return stage === 'response_body' || stage === 'done' ? 'cut' : 'reset';
  }
  return 'error';
}

/** A timeout, or an abort that one caused. */
export function isTimeout(error: unknown): boolean {
  for (let at = error, depth = 0; isObject(at) && depth < 4; at = at['cause'], depth++) {
    const code = codeOf(at);
    if (code !== undefined && TIMEOUT_CODES.has(code)) return true;
    if (nameOf(at) === 'TimeoutError') return true;
  }
  return false;
}

/** An abort by a signal. */
export function isAbort(error: unknown): boolean {
  return nameOf(error) === 'AbortError' || codeOf(error) === 'ABORT_ERR';
}

function codeOf(error: unknown): string | undefined {
  const code = isObject(error) ? error['code'] : undefined;
  return typeof code === 'string' ? code : undefined;
}

function nameOf(error: unknown): string | undefined {
  const name = isObject(error) ? error['name'] : undefined;
  return typeof name === 'string' ? name : undefined;
}

function isObject(value: unknown): value is { [key: string]: unknown } {
  return typeof value === 'object' && value !== null;
}
