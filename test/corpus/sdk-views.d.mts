import type { RecordedExchange } from './load.mjs';

/** Counts of one API, plain or streamed. */
export interface SdkViewRow {
  exchanges: number;
  equal: number;
  different: number;
  /** The SDK itself throws. */
  refused: number;
  refusedWithView: number;
}

/** Runs all exchanges of the SDK's APIs; `refused` has the ids by reason. */
export function runSdkViews(
  exchanges: RecordedExchange[],
  describeCall: unknown,
): Promise<{ rows: Map<string, SdkViewRow>; different: { id: string }[]; refused: Map<string, string[]> }>;
