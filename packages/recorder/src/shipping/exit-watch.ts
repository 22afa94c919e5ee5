/**
 * Notices that only our own requests keep the process alive. Sockets are unref'd, but a pending connect or write holds
 * the event loop in libuv whatever its handle says: a receiver that stopped reading would delay the program's end.
 */

/** Requests of libuv that a send may hold. Anything else that is active is the program's. */
const SEND_REQUESTS: ReadonlySet<string> = new Set([
  'TCPConnectWrap',
  'SimpleWriteWrap',
  'WriteWrap',
  'GetAddrInfoReqWrap',
  'ShutdownWrap',
]);

/** Looks while sends are under way. */
export interface ExitWatch {
  start(): void;
  stop(): void;
}

/** `onOnlyUs` is called when two looks in a row found nothing but sends. */
export function createExitWatch(intervalMs: number, onOnlyUs: () => void): ExitWatch {
  let timer: NodeJS.Timeout | undefined;
  let seen = 0;
  const look = (): void => {
    const active = process.getActiveResourcesInfo();
    seen = active.length > 0 && active.every((name) => SEND_REQUESTS.has(name)) ? seen + 1 : 0;
    if (seen < 2) return;
    seen = 0;
    onOnlyUs();
  };
  return {
    start() {
      timer ??= setInterval(look, intervalMs).unref();
    },
    stop() {
      clearInterval(timer);
      timer = undefined;
      seen = 0;
    },
  };
}
