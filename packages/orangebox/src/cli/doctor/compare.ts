/** `orangebox doctor --since`: what the spans of a time promise against what the store holds. */
import { AUDIT_FAULTS, AUDIT_MARGIN_MS, auditBucket, type AuditReport, readIndex } from '@orangebox/store';
import type { CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { parseDuration, parseTime, usage } from '../parse-options.ts';
import { withProgress } from '../progress.ts';
import { safeJson } from '../text/escape.ts';
import { plural } from '../text/format.ts';
import { openAuditPlaces } from './audit-places.ts';
import { writeComparison } from './compare-report.ts';

/** Options of the comparison, as typed. */
export interface CompareOptions {
  since: string;
  until?: string;
  grace?: string;
  tailSampled?: boolean;
  quick?: boolean;
  json?: boolean;
}

/** What ended less than this ago may still be on its way. */
const GRACE_MS = 5 * 60_000;

/** Findings kept per verdict: of more, all are counted. */
const LISTED_MAX = 100_000;

/** Compares; exit code 1 when something is lost, damaged or where it should not be. */
export async function compare(context: CommandContext, options: CompareOptions): Promise<number> {
  const { nowMs, terminal } = context;
  const sinceUnixMs = parseTime(options.since, nowMs);
  const untilUnixMs = options.until === undefined ? nowMs : parseTime(options.until, nowMs);
  if (untilUnixMs <= sinceUnixMs) throw usage('--until is not after --since', 'orangebox doctor --since 2h --until 1h');
  const graceMs = options.grace === undefined ? GRACE_MS : parseDuration(options.grace, '--grace');
  const { source, bucket } = await openAuditPlaces(context, 'doctor --since');
  let keys = 0;
  const problems: string[] = [];
  try {
    const work = auditBucket(source, bucket, {
      sinceUnixMs,
      untilUnixMs,
      nowMs,
      graceMs,
      tailSampled: options.tailSampled === true,
      quick: options.quick === true,
      findingsMax: LISTED_MAX,
      indexRows: readIndex(bucket, {
        sinceUnixMs: sinceUnixMs - AUDIT_MARGIN_MS,
        untilUnixMs: untilUnixMs + AUDIT_MARGIN_MS,
        order: 'oldest',
        onProblem: (problem) => problems.push(`${problem.location}: ${problem.message}`),
      }),
      onProgress: (count) => {
        keys = count;
      },
    });
    const report = await withProgress(terminal, () => `comparing, ${plural(keys, 'key')}`, work);
    const isFinding = hasFinding(report);
    if (options.json === true) terminal.line(safeJson({ ...report, finding: isFinding, indexProblems: problems }, 2));
    else writeComparison(terminal, report, { graceMs, indexProblems: problems });
    return isFinding ? EXIT.finding : EXIT.ok;
  } finally {
    await bucket.close();
  }
}

/** Whether something is wrong. What is late may come, and what a sampler dropped is as it was set up. */
function hasFinding(report: AuditReport): boolean {
  // Objects that a tail sampler explains are none only where somebody says that there is one.
  return report.looksTailSampled || [...AUDIT_FAULTS].some((verdict) => report.counts[verdict] > 0);
}
