/**
 * Writing everything down when the process ends, without changing how it ends. Installed when the first request is
 * recorded; nothing here keeps the process alive.
 */

/** What the hooks call; no method throws. */
export interface ExitTarget {
  flush(timeoutMs: number): Promise<void>;
  flushSync(): void;
  flushSinkSync(): void;
  endUnread(): void;
  readonly recorded: number;
}

/** Installed hooks. */
export interface ExitHooks {
  uninstall(): void;
}

/** As they were at the start: a program under test may put its own in their place. */
const { setImmediate, setTimeout } = globalThis;

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** Installs the hooks. */
export function installExitHooks(target: ExitTarget, flushMs: number): ExitHooks {
  let flushed = -1;
  const onBeforeExit = (): void => {
    // Emitted again after each flush; without news there is nothing to do, and the process ends.
    if (flushed === target.recorded) return;
    flushed = target.recorded;
    target.endUnread();
    void target.flush(flushMs);
  };
  const onExit = (): void => target.flushSync();
  process.on('beforeExit', onBeforeExit);
  process.on('exit', onExit);
  const { isMainThread } = process.getBuiltinModule('node:worker_threads');
  const undo = isMainThread ? SIGNALS.map((signal) => installSignal(signal, target, flushMs)) : [];
  return {
    uninstall() {
      process.removeListener('beforeExit', onBeforeExit);
      process.removeListener('exit', onExit);
      for (const one of undo) one();
    },
  };
}

function installSignal(signal: NodeJS.Signals, target: ExitTarget, flushMs: number): () => void {
  let ending = false;
  const onSignal = (): void => {
    // Libraries decide by the number of listeners whether they are to end the process: ours does not count.
    process.removeListener(signal, onSignal);
    if (process.listenerCount(signal) > 0) {
      target.flushSinkSync();
      setImmediate(() => {
        if (!ending) process.prependListener(signal, onSignal);
      }).unref();
      return;
    }
    if (ending) return;
    ending = true;
    target.flushSinkSync();
    let raised = false;
    const raise = (): void => {
      if (raised) return;
      raised = true;
      target.flushSync();
      // No listener is left, so that the default disposition holds and the exit status tells of the signal.
      process.kill(process.pid, signal);
    };
    // A second signal while flushing ends the process at once, as it would have without us.
    void target.flush(flushMs).then(raise, raise);
    setTimeout(raise, flushMs);
  };
  process.prependListener(signal, onSignal);
  return () => process.removeListener(signal, onSignal);
}
