/**
 * Clock and timers. A program under test puts its own in the place of the platform's, and the recorder is loaded after that:
 * the preload hands over those that it found.
 */

/** Clock and timers of the platform. */
export interface PlatformTimers {
  now: () => number;
  /** A clock that never goes back, in seconds and nanoseconds. */
  hrtime: () => [number, number];
  setImmediate: (work: () => void) => NodeJS.Immediate;
  setTimeout: (work: () => void, delayMs: number) => NodeJS.Timeout;
  clearTimeout: (timer: NodeJS.Timeout) => void;
}

let given: PlatformTimers | undefined;
let faultIn: ((error: unknown) => void) | undefined;

/** Uses these from now on; undefined: the ones that are in place at each use. `onFault` is told what work throws that they begin. */
export function useTimers(timers: PlatformTimers | undefined, onFault?: (error: unknown) => void): void {
  given = timers;
  faultIn = onFault;
}

/** Nothing catches what is thrown from a timer: it would end the program. */
function guarded(work: () => void): () => void {
  return () => {
    try {
      work();
    } catch (error) {
      if (!faultIn) throw error;
      faultIn(error);
    }
  };
}

/** What is in use, for parts that are built apart from this one. */
export function platformTimers(): PlatformTimers | undefined {
  return given;
}

/** Milliseconds since the Unix epoch. */
export function nowMs(): number {
  return given ? given.now() : Date.now();
}

/** Milliseconds of a clock that never goes back. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = given ? given.hrtime() : process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
}

/** Whether less than `ms` have passed since a time; not where the clock was set back to before it. */
export function isWithin(ms: number, sinceMs: number, now: number): boolean {
  const ageMs = now - sinceMs;
  return ageMs >= 0 && ageMs < ms;
}

/** Runs `work` in the next turn of the event loop. */
export function nextTurn(work: () => void): NodeJS.Immediate {
  return given ? given.setImmediate(guarded(work)) : setImmediate(guarded(work));
}

/** Runs `work` after a while. */
export function afterMs(delayMs: number, work: () => void): NodeJS.Timeout {
  return given ? given.setTimeout(guarded(work), delayMs) : setTimeout(guarded(work), delayMs);
}

/** Takes back what {@link afterMs} gave. */
export function cancelTimer(timer: NodeJS.Timeout | undefined): void {
  if (timer === undefined) return;
  if (given) given.clearTimeout(timer);
  else clearTimeout(timer);
}

/** Waits for `work`, at most `timeoutMs`. */
export async function within(timeoutMs: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = afterMs(timeoutMs, resolve);
  });
  await Promise.race([work, late]);
  cancelTimer(timer);
}
