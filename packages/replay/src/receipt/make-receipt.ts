/** Makes a receipt of what was observed. */
import type { Receipt, ReceiptFacts } from './types.ts';
import { counted, findingsOf, servedCount, VERDICT_EXIT_CODE } from './verdict.ts';

/** The receipt: one verdict, all findings, and what is worth knowing beside them. */
export function makeReceipt(facts: ReceiptFacts): Receipt {
  const findings = findingsOf(facts);
  const verdict = findings[0]?.verdict ?? 'replayed';
  return {
    ...facts,
    verdict,
    exitCode: VERDICT_EXIT_CODE[verdict],
    served: servedCount(facts),
    findings: findings.map(({ message }) => message),
    warnings: warningsOf(facts),
  };
}

function warningsOf(facts: ReceiptFacts): string[] {
  const refused = facts.refused.reduce((sum, { count }) => sum + count, 0);
  return [
    ...facts.notReplayable.map(({ what, count }) => `not replayable: ${count} × ${what}`),
    ...(facts.childRuns ?? []).map(
      ({ id, command }) => `${command} was served and not replayed: it is a run of its own, ${id}`,
    ),
    ...(refused > 0 ? [`${counted(refused, 'attempt')} to reach beyond the program refused`] : []),
    ...facts.rules.filter(({ uses }) => uses === 0).map(({ rule }) => `unused rule at ${rule.at}: ${rule.reason}`),
    ...facts.versions
      .filter(({ name, recorded, live }) => name !== 'node' && recorded !== live)
      .map(({ name, recorded, live }) => `${name} was ${recorded ?? 'absent'} on record and is ${live ?? 'absent'}`),
    ...(facts.code.digest.recorded === facts.code.digest.live
      ? []
      : [`changed since it was recorded: ${facts.code.entry.live ?? 'the entry file'}`]),
    ...(facts.files?.notes ?? []),
    ...(facts.run.signal === undefined ? [] : [`${facts.run.signal} ended the run: it was replayed up to there`]),
    ...(facts.tools?.changed ?? []).map(
      (name) => `the tool ${name} ran again, and its outcome is another than on record`,
    ),
    ...(facts.code.changedFiles ?? []).map((file) => `changed since it was recorded: ${file}`),
  ];
}
