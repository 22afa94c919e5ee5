/**
 * Writing everything down when the process ends, without changing how it ends and no longer than was allowed. Installed when
 * the first request is recorded; nothing here keeps the process alive.
 */
import { whenLoopIsEmpty } from './before-exit.ts';
import { type Instant, instant, nanosSince } from './clock.ts';

/** What the hooks call; no method throws. */
export interface ExitTarget {
  flush(timeoutMs: number): Promise<void>;
  flushSync(timeoutMs: number): void;
  flushSinkSync(timeoutMs: number): void;
  endUnread(): void;
  /** Nobody listens for this signal: the process is about to end by it. */
  dying(signal: NodeJS.Signals): void;
  readonly recorded: number;
}

/** Installed hooks. */
export interface ExitHooks {
  uninstall(): void;
}

/** As they were at the start: a program under test may put its own in their place. */
const { setImmediate, setTimeout } = globalThis;

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** The time that an end of the process may take: one sum for all that happens at it. Anew when there was another request. */
class ExitTime {
  readonly #target: ExitTarget;
  readonly #limitMs: number;
  #recorded = -1;
  #spentMs = 0;
  #since: Instant | undefined;

  constructor(target: ExitTarget, limitMs: number) {
    this.#target = target;
    this.#limitMs = limitMs;
  }

  get leftMs(): number {
    if (this.#recorded !== this.#target.recorded) {
      this.#recorded = this.#target.recorded;
      this.#spentMs = 0;
    }
    return Math.max(0, this.#limitMs - this.#spentMs - this.#runningMs());
  }

  /** It runs from now on. */
  begin(): void {
    this.#since ??= instant();
  }

  /** It stands still: the process may go on. */
  pause(): void {
    this.#spentMs += this.#runningMs();
    this.#since = undefined;
  }

  #runningMs(): number {
    return this.#since ? nanosSince(this.#since) / 1e6 : 0;
  }
}

/** Installs the hooks. */
export function installExitHooks(target: ExitTarget, flushMs: number): ExitHooks {
  const time = new ExitTime(target, flushMs);
  let flushed = -1;
  // Without news there is nothing to do, and the process ends.
  const undoBeforeExit = whenLoopIsEmpty(
    () => flushed !== target.recorded,
    async () => {
      flushed = target.recorded;
      target.endUnread();
      time.begin();
      await target.flush(time.leftMs);
      time.pause();
    },
  );
  const onExit = (): void => {
    time.begin();
    target.flushSync(time.leftMs);
  };
  process.on('exit', onExit);
  const { isMainThread } = process.getBuiltinModule('node:worker_threads');
  const undo = isMainThread ? SIGNALS.map((signal) => installSignal(signal, target, time)) : [];
  return {
    uninstall() {
      undoBeforeExit();
      process.removeListener('exit', onExit);
      for (const one of undo) one();
    },
  };
}

function installSignal(signal: NodeJS.Signals, target: ExitTarget, time: ExitTime): () => void {
  let ending = false;
  const onSignal = (): void => {
    // Libraries decide by the number of listeners whether they are to end the process: ours does not count.
    process.removeListener(signal, onSignal);
    if (process.listenerCount(signal) > 0) {
      time.begin();
      target.flushSinkSync(time.leftMs);
      time.pause();
      setImmediate(() => {
        if (!ending) process.prependListener(signal, onSignal);
      }).unref();
      return;
    }
    if (ending) return;
    ending = true;
    time.begin();
    target.dying(signal);
    // A second signal ends the process at once, as it would have without us.
    target.flushSinkSync(0);
    let raised = false;
    const raise = (): void => {
      if (raised) return;
      raised = true;
      target.flushSync(time.leftMs);
      // No listener is left, so that the default disposition holds and the exit status tells of the signal.
      process.kill(process.pid, signal);
    };
    const { leftMs } = time;
    void target.flush(leftMs).then(raise, raise);
    setTimeout(raise, leftMs);
  };
  process.prependListener(signal, onSignal);
  return () => process.removeListener(signal, onSignal);
}
