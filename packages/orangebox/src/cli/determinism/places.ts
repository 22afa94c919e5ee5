/** The places in a recorded program's code that ask for outside values. */
import type { RecordedRun } from '@orangebox/replay/process';
import { placeKey } from '@orangebox/replay/process';

/** One of them. */
export interface DrawPlace {
  /** As a replay's plan names it. */
  key: string;
  /** What was asked: `Date.now`, `crypto.randomUUID`. */
  source: string;
  /** `file:line:column`, relative to the working directory. */
  at: string;
}

/** All places of all threads, in the order in which they first asked. */
export function placesOf(runs: readonly RecordedRun[]): DrawPlace[] {
  const places = new Map<string, DrawPlace>();
  for (const { draws } of runs) {
    for (const { source, at = '' } of draws) {
      const key = placeKey(source, at);
      if (!places.has(key)) places.set(key, { key, source, at });
    }
  }
  return [...places.values()];
}
