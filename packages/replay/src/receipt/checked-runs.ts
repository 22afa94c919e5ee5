/** Verdicts on many recordings, for people and for CI. */
import { escapedLine } from '../divergence/divergence-text.ts';
import { receiptText } from './receipt-text.ts';
import type { Receipt, ReceiptVerdict } from './types.ts';
import { counted, VERDICT_EXIT_CODE } from './verdict.ts';

/** One recording that was replayed, or could not be. */
export interface CheckedRun {
  runId: string;
  /** Where it lies, as a person would name it. */
  place: string;
  durationMs: number;
  /** Absent where there was none; `error` says why. */
  receipt?: Receipt;
  error?: { code: string; message: string; exitCode: number };
}

/** Verdicts by weight: that of the whole is the weightiest of all. */
const BY_WEIGHT: readonly Exclude<ReceiptVerdict, 'replayed'>[] = [
  'damaged',
  'not_sealed',
  'wrong_program',
  'wrong_runtime',
  'nothing_served',
  'diverged',
  'incomplete',
  'output_differs',
];

/** Exit code of a check: that of an error, else of the weightiest verdict; 0 only where every run was replayed. */
export function checkExitCode(runs: readonly CheckedRun[]): number {
  const error = runs.find((run) => run.error)?.error;
  if (error) return error.exitCode;
  const worst = BY_WEIGHT.find((verdict) => runs.some(({ receipt }) => receipt?.verdict === verdict));
  return VERDICT_EXIT_CODE[worst ?? 'replayed'];
}

/** One line per recording, why those failed, and the counts. */
export function checkSummary(runs: readonly CheckedRun[]): string {
  const lines = runs.map(({ runId, place, durationMs, receipt, error }) => {
    const verdict = error?.code ?? receipt?.verdict ?? 'nothing';
    const reason = error?.message ?? receipt?.findings[0];
    return escapedLine(
      `${verdict.padEnd(14)} ${runId}  ${place}  ${seconds(durationMs)} s${reason === undefined ? '' : `: ${reason}`}`,
    );
  });
  const failed = runs.filter((run) => !isReplayed(run)).length;
  return `${[...lines, '', `${counted(runs.length - failed, 'run')} replayed, ${failed} failed`].join('\n')}\n`;
}

/** The verdicts as JUnit XML: a test case each, a `failure` for another verdict, an `error` where there was none. */
export function junitXml(runs: readonly CheckedRun[]): string {
  const failures = runs.filter(({ receipt }) => receipt !== undefined && receipt.verdict !== 'replayed').length;
  const errors = runs.filter(({ receipt }) => receipt === undefined).length;
  const time = seconds(runs.reduce((sum, { durationMs }) => sum + durationMs, 0));
  const counts = `tests="${runs.length}" failures="${failures}" errors="${errors}" time="${time}"`;
  const lines = [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts}>`,
    `  <testsuite name="orangebox check" ${counts}>`,
    ...runs.flatMap(testCase),
    '  </testsuite>',
    '</testsuites>',
  ];
  return `${lines.join('\n')}\n`;
}

function testCase(run: CheckedRun): string[] {
  const { runId, place, durationMs, receipt, error } = run;
  const head = `<testcase classname="${xml(place)}" name="${xml(runId)}" time="${seconds(durationMs)}"`;
  if (isReplayed(run)) return [`    ${head}/>`];
  const [tag, type, message, text] =
    receipt === undefined
      ? ['error', error?.code ?? 'OBX_REPLAY_NO_RECEIPT', error?.message ?? 'there is no receipt', '']
      : ['failure', receipt.verdict, receipt.findings[0] ?? receipt.verdict, receiptText(receipt)];
  return [
    `    ${head}>`,
    `      <${tag} type="${xml(type)}" message="${xml(message)}">${xml(text)}</${tag}>`,
    '    </testcase>',
  ];
}

function isReplayed({ receipt, error }: CheckedRun): boolean {
  return error === undefined && receipt?.verdict === 'replayed';
}

function seconds(durationMs: number): string {
  return (durationMs / 1000).toFixed(3);
}

/**
 * Text within XML 1.0, which has no way to write control characters, lone surrogates and two more; nor does anybody who reads
 * it want what a recording may hold to turn the text around.
 */
function xml(text: string): string {
  return text
    .replace(/[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .split('\n')
    .map(escapedLine)
    .join('\n')
    .replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
