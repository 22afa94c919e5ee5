/** A receipt as text for people. */
import { divergenceText, escapedLine } from '../divergence/divergence-text.ts';
import type { Receipt } from './types.ts';
import { counted } from './verdict.ts';

const WARNINGS_SHOWN = 20;
const DIGEST_CHARS = 16;

/** The receipt in lines, without colour; control characters are escaped. */
export function receiptText(receipt: Receipt): string {
  const { rungs, processes, tools, run, code } = receipt;
  const refused = receipt.refused.reduce((sum, { count }) => sum + count, 0);
  const lines = [
    `${receipt.verdict === 'replayed' ? 'replayed' : `not replayed (${receipt.verdict.replaceAll('_', ' ')})`}: run ${run.id}`,
    ...receipt.findings.map((finding) => `  ${finding}`),
    `  served    ${receipt.served} of ${counted(receipt.recordedRequests, 'request')}: ${rungs.exact} exact, ${rungs.canonical} canonical, ${rungs.unified} unified, ${rungs.rule} by rule`,
    `  not asked ${receipt.missing} missing, ${receipt.extra} extra`,
    `  sealed    ${counted(refused, 'attempt')} refused, ${counted(receipt.liveConnections, 'connection')} made; processes: ${processes.served} served, ${processes.started} started${tools !== undefined && tools.served > 0 ? `; tools: ${tools.served} served` : ''}`,
    `  digests   recording ${run.digest.slice(0, DIGEST_CHARS)}, program ${(code.digest.live ?? 'unknown').slice(0, DIGEST_CHARS)}`,
    ...receipt.rules
      .filter(({ uses }) => uses > 0)
      .map(({ rule, uses }) => `  rule      ${rule.at}, ${uses} ×: ${rule.reason}`),
    ...receipt.refused.map(({ what, count }) => `  refused   ${count} × ${what}`),
    ...receipt.outcome
      .filter(({ recorded, live }) => recorded !== live)
      .map(({ name, recorded, live }) => `  ${name}: ${short(recorded)} on record, ${short(live)} now`),
    ...(receipt.outputDifferences ?? []).flatMap(({ name, line, recorded, live }) => [
      `  ${name}, line ${line}, is the first that differs:`,
      ...(recorded === undefined ? [] : [`    - ${recorded}`]),
      ...(live === undefined ? [] : [`    + ${live}`]),
    ]),
    ...receipt.warnings.slice(0, WARNINGS_SHOWN).map((warning) => `  warning   ${warning}`),
    ...(receipt.warnings.length > WARNINGS_SHOWN
      ? [`  … ${receipt.warnings.length - WARNINGS_SHOWN} more warnings`]
      : []),
  ];
  const divergence = receipt.divergence === undefined ? '' : divergenceText(receipt.divergence);
  return `${lines.map(escapedLine).join('\n')}\n${divergence}`;
}

function short(value: string | undefined): string {
  return value === undefined ? 'nothing' : value.slice(0, DIGEST_CHARS);
}
