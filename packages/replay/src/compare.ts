/** What two calls differ in, and how much of that is noise. */
import { type Comparison, compareSnapshots } from '@orangebox/codec';
import { decodeContent } from '@orangebox/store';
import { findCall } from './lookup.ts';
import type { LookupOptions, Reference, ResendResult } from './types.ts';

/** Compares two recorded calls: identical, equivalent or different, and where. */
export async function compare(a: Reference, b: Reference, options: LookupOptions = {}): Promise<Comparison> {
  const [left, right] = [await findCall(a, options), await findCall(b, options)];
  return compareSnapshots(left.snapshot, right.snapshot, decodeContent);
}

/** Counts of verdicts. */
export interface VerdictCounts {
  identical: number;
  equivalent: number;
  different: number;
}

/** The recording against each resent call, and the resent calls among themselves. */
export interface NoiseComparison {
  /** One per resent call, in order. */
  comparisons: Comparison[];
  againstRecording: VerdictCounts;
  /** Every pair of resent calls: what differs here says nothing about the recording. Absent below two calls. */
  noiseFloor?: VerdictCounts;
}

/** Compares the outcome of a resend with its recording, with the noise floor where it was sent more than once. */
export function compareResent(result: ResendResult): NoiseComparison {
  const snapshots = result.calls.map((call) => call.snapshot);
  const comparisons = snapshots.map((snapshot) => compareSnapshots(result.original, snapshot, decodeContent));
  const noise = snapshots.flatMap((a, i) => snapshots.slice(i + 1).map((b) => compareSnapshots(a, b, decodeContent)));
  return {
    comparisons,
    againstRecording: count(comparisons),
    ...(snapshots.length > 1 ? { noiseFloor: count(noise) } : {}),
  };
}

function count(comparisons: readonly Comparison[]): VerdictCounts {
  const counts: VerdictCounts = { identical: 0, equivalent: 0, different: 0 };
  for (const { verdict } of comparisons) counts[verdict] += 1;
  return counts;
}
