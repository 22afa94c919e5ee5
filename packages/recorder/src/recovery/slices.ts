/** Work in small steps, so that a program whose process it is done in never waits for it. */
import { monotonicMs } from '../timers.ts';

/** How long one stretch of work may be, and what comes between two. */
export interface Pace {
  sliceMs: number;
  pause(): Promise<void>;
}

/** Work that can be interrupted at each `yield`. */
export type Steps<T> = Generator<void, T, void>;

/** Gives what is to be awaited between pieces of work that are short by themselves: it pauses where a slice is used up. */
export function breaksOf({ sliceMs, pause }: Pace): () => Promise<void> {
  let until = monotonicMs() + sliceMs;
  return async () => {
    if (monotonicMs() < until) return;
    await pause();
    until = monotonicMs() + sliceMs;
  };
}

/** Does the work to its end, pausing as the pace says. Rejects with what the work throws. */
export async function inSlices<T>(work: Steps<T>, pace: Pace): Promise<T> {
  let until = monotonicMs() + pace.sliceMs;
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    if (monotonicMs() < until) continue;
    await pace.pause();
    until = monotonicMs() + pace.sliceMs;
  }
}
