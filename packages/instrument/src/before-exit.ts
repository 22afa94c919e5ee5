/**
 * Work of ours when the event loop is empty. Node.js emits `beforeExit` again after whatever was done meanwhile; a program that
 * counts these, or does something at each, must not see the emission that only we cause.
 */

import { instant, nanosSince } from './clock.ts';

/** As they were at the start: a program under test may put its own in their place. */
const { setImmediate } = globalThis;

type Listener = (...args: unknown[]) => void;

/** Requests of the thread pool: the recorder's look after its directory may go on for a moment when all is sent. */
const POOL_REQUESTS: ReadonlySet<string> = new Set(['FSReqPromise', 'FSReqCallback', 'CloseReq']);
/** They are waited for turn by turn, which costs CPU; no longer than this. */
const POOL_WAIT_NS = 1e9;

/** What holds the loop: handles, requests and timers. Where the program has put something else in place, nothing that changes. */
const active = (): string[] => {
  try {
    return process.getActiveResourcesInfo().filter((name) => name !== 'Immediate');
  } catch {
    return [];
  }
};
const isPoolRequest = (name: string): boolean => POOL_REQUESTS.has(name);

/**
 * Calls `then` with whether nothing is active but `before` things, once requests of the thread pool are done. They hold the loop by
 * themselves, so this keeps the process no longer.
 */
function whenPoolIsIdle(before: number, then: (isIdle: boolean) => void): void {
  const since = instant();
  const look = (): void => {
    const now = active();
    const hasOnlyPool = now.length > before && now.filter((name) => !isPoolRequest(name)).length <= before;
    if (hasOnlyPool && nanosSince(since) < POOL_WAIT_NS) setImmediate(look);
    else then(now.length <= before);
  };
  look();
}

/**
 * Calls `work` when the loop is empty, the program's own listeners for that have begun nothing, and it is needed. `work` never
 * rejects. Returns the undo.
 */
export function whenLoopIsEmpty(isNeeded: () => boolean, work: () => Promise<void>): () => void {
  let hidden: Listener[] = [];
  let isWorking = false;
  const restore = (): void => {
    for (const listener of hidden.splice(0)) process.on('beforeExit', listener);
  };
  const hide = (): void => {
    for (const listener of process.rawListeners('beforeExit') as Listener[]) {
      if (listener === onBeforeExit) continue;
      hidden.push(listener);
      process.removeListener('beforeExit', listener);
    }
  };
  const onBeforeExit = (): void => {
    restore();
    if (isWorking || !isNeeded()) return;
    isWorking = true;
    const before = active().length;
    let isGoingOn = false;
    // Once the program's listeners were called, and before any timer of ours can begin a look at the directory.
    process.nextTick(() => {
      isGoingOn = active().length > before;
    });
    const begin = (isIdle: boolean): void => {
      if (isGoingOn || !isIdle) {
        // It goes on, and the next emission is its own.
        isWorking = false;
        return;
      }
      void work().then(() => {
        whenPoolIsIdle(before, (isIdleAgain) => {
          isWorking = false;
          if (isIdleAgain) hide();
        });
      });
    };
    // What the program's listeners begin may need a turn.
    setImmediate(() => {
      if (isGoingOn) begin(false);
      else whenPoolIsIdle(before, begin);
    });
  };
  process.prependListener('beforeExit', onBeforeExit);
  return () => {
    restore();
    process.removeListener('beforeExit', onBeforeExit);
  };
}
