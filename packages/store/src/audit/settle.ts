/** What can be said only when everything has been looked at: which promises nothing stands under, and why spans are missing. */
import type { AuditRange } from './audit-range.ts';
import { factsOf } from './finding-facts.ts';
import type { Findings } from './findings.ts';
import type { Promises } from './promises.ts';

/** From this many objects without a span on, where they are this share of all, a tail sampler is the likelier reason. */
const TAIL_SAMPLED_MIN = 20;
const TAIL_SAMPLED_SHARE = 0.1;

/** What is known of keys in the end. */
export interface KnownKeys {
  range: AuditRange;
  findings: Findings;
  /** Something stands under it. */
  isThere: (key: string) => boolean;
  /** The index names it. */
  isIndexed: (key: string) => boolean;
  /** The object of another key in which its payload stands. */
  elsewhere: (key: string) => string | undefined;
}

/** Finds what is lost, or late, and keys that are none; gives how many promises are of the range. */
export function settlePromises(promises: Promises, known: KnownKeys): number {
  const { range, findings } = known;
  let count = 0;
  for (const promised of promises.byKey.values()) {
    if (!range.has(promised.startUnixNano)) continue;
    count += 1;
    if (known.isThere(promised.key)) continue;
    const elsewhere = known.elsewhere(promised.key);
    const where = elsewhere === undefined ? '' : `; its payload stands in ${elsewhere}, where no reader finds it`;
    if (range.isRecent(promised.endUnixNano) && elsewhere === undefined) {
      findings.add({ ...factsOf(promised), verdict: 'late', reason: 'not there yet; its span ended just now' });
    } else
      findings.add({
        ...factsOf(promised),
        verdict: 'lost',
        reason: `nothing stands under it${known.isIndexed(promised.key) ? ', though the index names it' : ''}${where}`,
      });
  }
  for (const promised of promises.invalid) {
    if (!range.has(promised.startUnixNano)) continue;
    const key = promised.key.slice(0, 120);
    const reason = 'the span names what is no key of its own';
    findings.add({ ...factsOf(promised), key, verdict: 'invalid_key', reason });
  }
  return count;
}

/** Many objects without a span are no accident but a sampler; says whether that was concluded. */
export function settleSpanless(
  spanless: Findings,
  { findings, objects, tailSampled }: { findings: Findings; objects: number; tailSampled: boolean },
): boolean {
  const count = spanless.counts.orphaned;
  const many = count >= TAIL_SAMPLED_MIN && count > objects * TAIL_SAMPLED_SHARE;
  if (tailSampled || many) {
    findings.takeAs('unsampled_or_orphaned', 'a sampler dropped its span, or the span was lost', spanless);
  } else findings.takeAs('orphaned', 'the trace backend has no span for it', spanless);
  return many && !tailSampled;
}
