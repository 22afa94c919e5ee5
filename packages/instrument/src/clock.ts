/** Clocks of the taps: monotonic nanoseconds, wall-clock nanoseconds, and the order of deliveries. */

/** As they were at the start: a program under test may put a clock of its own in their place. */
const { now } = Date;
const { hrtime, nextTick } = process;

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

let order = 0;
/** In a replayable run: a turn of the event loop is open in which something was delivered. */
let isTurnOpen = false;
let marksTurns = false;

/**
 * The next number of the process-wide order of deliveries: heads and chunks of all exchanges share it. In a replayable run a
 * number is left out where the program had a turn to itself since the last delivery: only what came together has numbers
 * without a gap.
 */
export function nextDelivery(): number {
  if (openTurn()) order++;
  return order++;
}

/**
 * The place of what comes to a client that is paused, and is taken from its connection later: two numbers are left out, so that a
 * replay knows that nobody had asked for it yet.
 */
export function nextArrival(): number {
  openTurn();
  order += 2;
  return order++;
}

/** Whether a turn begins. */
function openTurn(): boolean {
  if (!marksTurns || isTurnOpen) return false;
  isTurnOpen = true;
  // Runs when the platform's callback is through, before what waits for promises.
  nextTick(() => {
    isTurnOpen = false;
  });
  return true;
}

/** The next number of the same order for something that the program does. */
export function nextSeq(): number {
  return order++;
}

/** From now on the order tells what was delivered in one turn of the event loop. */
export function markTurns(): void {
  marksTurns = true;
}
