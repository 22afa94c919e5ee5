/** When the next request may go out. One failure pauses everything: the endpoint is one, however many payloads wait. */
import { nowMs } from '../timers.ts';

/** Pace of requests to one endpoint. */
export interface Pacing {
  /** Milliseconds until the next request; 0 when it may go now. */
  waitMs(): number;
  /** Requests at once: one, as a probe, while the endpoint fails. */
  readonly concurrency: number;
  /** Failures since the last success. */
  readonly failures: number;
  succeeded(): void;
  /** `atLeastMs`: the endpoint's `Retry-After`, or a floor of our own. */
  failed(atLeastMs?: number): void;
  /** Forgets the pause, so that one more try is made at once. */
  tryNow(): void;
}

/** Limits of {@link createPacing}. */
export interface PacingOptions {
  concurrency: number;
  firstPauseMs: number;
  longestPauseMs: number;
  now?: () => number;
  /** 0 to 1; jitter keeps the processes of a fleet apart. */
  random?: () => number;
}

/** Exponential pauses with jitter. */
export function createPacing(options: PacingOptions): Pacing {
  const { concurrency, firstPauseMs, longestPauseMs, now = nowMs, random = jitter } = options;
  let failures = 0;
  let pausedAt = 0;
  let pausedUntil = 0;
  return {
    waitMs() {
      const at = now();
      // A clock that was set back says nothing of how long it has been.
      return at < pausedAt ? 0 : Math.max(0, pausedUntil - at);
    },
    get concurrency() {
      return failures > 0 ? 1 : concurrency;
    },
    get failures() {
      return failures;
    },
    succeeded() {
      failures = 0;
      pausedUntil = 0;
    },
    failed(atLeastMs = 0) {
      const full = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(failures, 20));
      failures++;
      const pauseMs = Math.max(full * (0.5 + random() / 2), atLeastMs);
      const at = now();
      pausedUntil = Math.max(at < pausedAt ? at : pausedUntil, at + pauseMs);
      pausedAt = at;
    },
    tryNow() {
      pausedUntil = 0;
    },
  };
}

/** `Math.random` is the program's (replays pin it); the clock's last digits spread processes well enough. */
function jitter(): number {
  return Number(process.hrtime.bigint() % 1009n) / 1009;
}
