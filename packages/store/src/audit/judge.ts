/** What is said of an object that no span promises. */
import type { AuditRange } from './audit-range.ts';
import type { KeyCheck } from './check-key.ts';
import type { AuditFinding } from './report.ts';
import type { LookedUp } from './trace-lookup.ts';

/** What is known of it. */
export interface Unpromised {
  check: KeyCheck;
  endUnixNano: string;
  /** Absent where it could not be read and no index names it. */
  sampled?: boolean;
  lookedUp: LookedUp;
}

/** How the comparison is made. */
export interface Manner {
  range: AuditRange;
  quick: boolean;
  tailSampled: boolean;
  /** Spans are missing in the comparison. */
  truncated: boolean;
}

/** Verdict and reason; undefined when all there is to say is that it has no span. */
export function judgeUnpromised(
  object: Unpromised,
  manner: Manner,
): Pick<AuditFinding, 'verdict' | 'reason'> | undefined {
  const { check, sampled, lookedUp } = object;
  const damage = check.state === 'stored' ? '' : `, and ${check.reason ?? check.state}`;
  if (sampled === false && damage === '') return { verdict: 'unsampled', reason: 'a head sampler dropped its span' };
  if (lookedUp.found === 'span') {
    const other = lookedUp.key === undefined ? 'no key' : `another key, ${lookedUp.key}`;
    return { verdict: 'orphaned', reason: `its span promises ${other}${damage}` };
  }
  if (check.state !== 'corrupt' && manner.range.isRecent(object.endUnixNano))
    return { verdict: 'span_pending', reason: 'its span may still be on its way' };
  if (damage !== '' && (manner.tailSampled || sampled === false))
    return { verdict: check.state === 'incomplete' ? 'incomplete' : 'corrupt', reason: `it has no span${damage}` };
  if (damage !== '') return { verdict: 'orphaned', reason: `the trace backend has no span for it${damage}` };
  if (lookedUp.found === 'not_asked' && manner.truncated)
    return { verdict: 'unchecked', reason: 'the answers of the trace backend were cut' };
  if (manner.quick && sampled === undefined)
    return {
      verdict: 'unsampled_or_orphaned',
      reason: 'it has no span, and was not opened to see whether one was due',
    };
  return undefined;
}
