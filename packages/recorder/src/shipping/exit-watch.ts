/**
 * Notices that only our own requests keep the process alive. Sockets are unref'd, but a pending connect or write holds
 * the event loop in libuv whatever its handle says: a receiver that stopped reading would delay the program's end.
 */

import { afterMs, cancelTimer } from '../timers.ts';

/** Requests of libuv that a send may hold. Anything else that is active is the program's. */
const SEND_REQUESTS: ReadonlySet<string> = new Set([
  'TCPConnectWrap',
  'SimpleWriteWrap',
  'WriteWrap',
  'GetAddrInfoReqWrap',
  'ShutdownWrap',
]);

/** What output streams show as. They are listed while they are open, but hold nothing. */
const OUTPUT_HANDLES: ReadonlySet<string> = new Set(['PipeWrap', 'TTYWrap']);

/** Looks while sends are under way. */
export interface ExitWatch {
  start(): void;
  stop(): void;
}

/**
 * `onOnlyUs` is called when two looks in a row found nothing but sends, or nothing at all while we read and compress: work on the
 * thread pool holds the event loop and is not listed, our turns between two steps of reading are immediates.
 */
export function createExitWatch(
  intervalMs: number,
  onOnlyUs: () => void,
  isCompressing: () => boolean = () => false,
): ExitWatch {
  let timer: NodeJS.Timeout | undefined;
  let seen = 0;
  const plan = (): void => {
    timer = afterMs(intervalMs, look).unref();
  };
  const look = (): void => {
    plan();
    seen = isOnlyUs(isCompressing()) ? seen + 1 : 0;
    if (seen < 2) return;
    seen = 0;
    onOnlyUs();
  };
  return {
    start() {
      if (timer === undefined) plan();
    },
    stop() {
      cancelTimer(timer);
      timer = undefined;
      seen = 0;
    },
  };
}

function isOnlyUs(isCompressing: boolean): boolean {
  const active = process.getActiveResourcesInfo();
  const others = active.filter((name) => !SEND_REQUESTS.has(name) && !(isCompressing && name === 'Immediate'));
  if ((others.length === active.length && !isCompressing) || !others.every((name) => OUTPUT_HANDLES.has(name)))
    return false;
  return others.length === 0 || others.length <= openOutputs();
}

/** Number of open output streams. The names alone don't tell them from a pipe that the program reads. */
function openOutputs(): number {
  const { _getActiveHandles } = process as { _getActiveHandles?: () => { fd?: unknown }[] };
  return _getActiveHandles?.call(process).filter(({ fd }) => fd === 1 || fd === 2).length ?? 0;
}
