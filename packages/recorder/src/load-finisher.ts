/** Loads what finishes calls: beside the program, or at once where the process ends before that is done. */
import { createRequire } from 'node:module';
import type { createFinisher } from './finisher.ts';

let loaded: typeof createFinisher | undefined;

/** Loads it; the same for all recorders. */
export async function loadFinisher(): Promise<typeof createFinisher> {
  loaded ??= (await import('./finisher.ts')).createFinisher;
  return loaded;
}

/** What was loaded, or loads it synchronously from the built package; undefined when there is none. */
export function loadFinisherNow(): typeof createFinisher | undefined {
  try {
    loaded ??= (createRequire(import.meta.url)('./finisher.cjs') as { createFinisher: typeof createFinisher })
      .createFinisher;
  } catch {
    // Run from sources, which only load beside the program.
  }
  return loaded;
}
