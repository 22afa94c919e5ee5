import type { RecordedExchange } from './load.mjs';

/** Counts by what an exchange is and what it was taken for, and those that were taken wrong. */
export function confusion(
  exchanges: RecordedExchange[],
  codec: object,
): {
  table: { inference: { [verdict: string]: number }; other: { [verdict: string]: number } };
  wrong: { id: string }[];
};
