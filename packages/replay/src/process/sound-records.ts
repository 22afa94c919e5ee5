/**
 * What a record of a run may hold beyond its shape: a program does something with these values, so each must be one that
 * its source can give. A path where a UUID belongs may come to a program that removes what it names.
 */
import { constants } from 'node:os';
import { SECRET_TOKEN_PATTERN } from '@orangebox/codec';
import type {
  ChildEvent,
  ChildRecord,
  DrawnValue,
  InputPiece,
  RunStartRecord,
  TimerFiredRecord,
  ToolRunRecord,
} from '@orangebox/schema';

const PID_MAX = 0x7fff_ffff;
/** The ends of time that `Date` knows, in milliseconds. */
const DATE_MAX_MS = 8.64e15;
/** Of each list of a tool's record. */
const TOOL_MAX_ITEMS = 10_000;
/** Of its arguments or its outcome, with tokens for what was replaced. */
const TOOL_MAX_CHARS = 16 * 1024 * 1024;
const RUN_ID = /^run-[0-9a-f]{12}$/;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const WHOLE = /^-?\d{1,20}$/;
const HOST_NAME = /^(?!\.{1,2}$)[\w.-]{1,255}$/;
const TOKENS = new RegExp(SECRET_TOKEN_PATTERN.source, 'g');

/** Whether a run's start is one. */
export function isSoundStart({ runId, pid, ppid }: RunStartRecord): boolean {
  return RUN_ID.test(runId) && pid > 0 && pid <= PID_MAX && ppid <= PID_MAX;
}

/** Whether a timer is one that the platform has. */
export function isSoundTimer({ delayMs }: TimerFiredRecord): boolean {
  return delayMs >= 0 && delayMs <= Number.MAX_SAFE_INTEGER;
}

/** Whether what a tool is given from is JSON, an error has members, and nothing is longer than a recorder writes it. */
export function isSoundTool({ args, value, error, timers, draws, children, within }: ToolRunRecord): boolean {
  if ([timers, draws, children, within].some((list) => (list?.length ?? 0) > TOOL_MAX_ITEMS)) return false;
  try {
    for (const json of [args, value]) if (json !== undefined) parsed(json);
    return [error?.members, error?.hidden].every((json) => json === undefined || isObject(parsed(json)));
  } catch {
    return false;
  }
}

function parsed(json: string): unknown {
  if (json.length > TOOL_MAX_CHARS) throw new RangeError('too long');
  return JSON.parse(json) as unknown;
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a child process is one that the platform gives. */
export function isSoundChild({ pid, stdin, events }: ChildRecord): boolean {
  return pid <= PID_MAX && BASE64.test(stdin) && events.every(isSoundEvent);
}

function isSoundEvent({ bytes, code, signal }: ChildEvent): boolean {
  return (
    (bytes === undefined || BASE64.test(bytes)) &&
    (code === undefined || code === null || Number.isSafeInteger(code)) &&
    (signal === undefined || signal === null || Object.hasOwn(constants.signals, signal))
  );
}

/** The recorder keeps half of it; tokens may be longer than what they stand for. */
const INPUT_MAX_CHARS = (32 * 1024 * 1024 * 4) / 3;
const INPUT_PIECES_MAX = 250_000;

/** Whether standard input, in order, is what one gives: within the bounds, and nothing behind its end. */
export function isSoundInput(pieces: readonly InputPiece[]): boolean {
  if (pieces.length > INPUT_PIECES_MAX) return false;
  let chars = 0;
  let hasEnded = false;
  return pieces.every(({ bytes, by, isEnd, errorCode }) => {
    chars += bytes.length;
    if (by === undefined && hasEnded) return false;
    if (by === undefined && isEnd) hasEnded = true;
    return (
      chars <= INPUT_MAX_CHARS &&
      BASE64.test(bytes) &&
      (isEnd === undefined || (bytes === '' && by === undefined)) &&
      (errorCode === undefined || (by !== undefined && Object.hasOwn(constants.errno, errorCode)))
    );
  });
}

/** Whether a drawn value is one that its source gives. */
export function isSoundDraw({ source, value }: DrawnValue): boolean {
  const text = typeof value === 'string' ? value : undefined;
  const number = typeof value === 'number' ? value : Number.NaN;
  switch (source) {
    case 'Math.random':
      return number >= 0 && number < 1;
    case 'crypto.randomUUID':
      return text !== undefined && UUID.test(text);
    case 'crypto.randomInt':
      return Number.isSafeInteger(number);
    case 'process.pid':
      return Number.isSafeInteger(number) && number > 0 && number <= PID_MAX;
    case 'process.ppid':
      return Number.isSafeInteger(number) && number >= 0 && number <= PID_MAX;
    case 'os.hostname':
      return text !== undefined && HOST_NAME.test(text.replace(TOKENS, 'x'));
    case 'process.hrtime':
    case 'Temporal.Now':
      return text !== undefined && WHOLE.test(text);
    case 'performance.now':
    case 'process.uptime':
    case 'os.uptime':
    case 'os.freemem':
      return number >= 0;
    default:
      if (source.startsWith('crypto.')) return text !== undefined && BASE64.test(text);
      return Math.abs(number) <= DATE_MAX_MS;
  }
}
