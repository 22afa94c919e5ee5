/** Clocks of the taps: monotonic nanoseconds, wall-clock nanoseconds, and the order of deliveries. */

/** As they were at the start: a program under test may put a clock of its own in their place. */
const { now } = Date;
const { hrtime } = process;

/** A monotonic instant; seconds and nanoseconds, so that no bigint is made on the hot path. */
export type Instant = [seconds: number, nanoseconds: number];

/** The monotonic clock now. */
export function instant(): Instant {
  return hrtime();
}

/** Nanoseconds from `start` until now; exact as a double for 104 days. */
export function nanosSince(start: Instant): number {
  const [seconds, nanoseconds] = hrtime(start);
  return seconds * 1e9 + nanoseconds;
}

/** Beyond this distance the wall clock was set, and the monotonic clock is tied to it anew. */
const MAX_DRIFT_NANO = 20_000_000n;
let offsetNano: bigint | undefined;

/** Nanoseconds since the Unix epoch, finer than `Date.now()`, following it when it is set. */
export function unixNano(): bigint {
  const monotonic = hrtime.bigint();
  const wall = BigInt(now()) * 1_000_000n;
  if (offsetNano !== undefined) {
    const fine = monotonic + offsetNano;
    const distance = fine > wall ? fine - wall : wall - fine;
    if (distance < MAX_DRIFT_NANO) return fine;
  }
  offsetNano = wall - monotonic;
  return wall;
}

let deliveries = 0;

/** The next number of the process-wide order of deliveries: heads and chunks of all exchanges share it. */
export function nextDelivery(): number {
  return deliveries++;
}
