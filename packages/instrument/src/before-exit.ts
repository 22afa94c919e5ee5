/**
 * Work of ours when the event loop is empty. Node.js emits `beforeExit` again after whatever was done meanwhile; a program that
 * counts these, or does something at each, must not see the emission that only we cause.
 */

/** As it was at the start: a program under test may put its own in its place. */
const { setImmediate } = globalThis;

type Listener = (...args: unknown[]) => void;

/** How much the program has under way: handles, requests and timers that hold the loop. */
const active = (): number => process.getActiveResourcesInfo().filter((name) => name !== 'Immediate').length;

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
    const before = active();
    // The program's listeners come after this one, and what they begin may need a turn.
    setImmediate(() => {
      if (active() > before) {
        // It goes on, and the next emission is its own.
        isWorking = false;
        return;
      }
      void work().then(() => {
        isWorking = false;
        if (active() <= before) hide();
      });
    });
  };
  process.prependListener('beforeExit', onBeforeExit);
  return () => {
    restore();
    process.removeListener('beforeExit', onBeforeExit);
  };
}
