/** Results of faults for people. */
import type { FaultResult } from './faulty-run.ts';

/** One fault in full. */
export function describeResult(result: FaultResult): string {
  const { program, payloads, outcomes, metadata } = result;
  const times = Object.entries(program.times).map(
    ([name, { calls, p50, p95 }]) => `${name} ${p50.toFixed(1)}/${p95.toFixed(1)} ms (${calls})`,
  );
  const rows: [string, string][] = [
    ['calls', `${program.calls}, failed ${program.failed}, answers ${program.answersRight ? 'right' : 'WRONG'}`],
    ['call times p50/p95', times.join(', ')],
    ['promised', String(payloads.promised)],
    ['stored, bytes equal', String(payloads.equal)],
    ['lost', String(payloads.missing.length)],
    ['different', String(payloads.different.length)],
    ['not promised, but there', String(payloads.strange)],
    [
      'archiver',
      Object.entries(outcomes)
        .map(([name, count]) => `${name} ${count}`)
        .join(', '),
    ],
    ['fault lasted', `${result.faultSeconds.toFixed(0)} s`],
    ['drained after it in', `${result.drainSeconds.toFixed(0)} s`],
    ['spans in Jaeger', `${metadata.inJaeger} of ${metadata.promised}`],
    ['program ended with', `${program.code}; stderr: ${program.stderr.join(' | ') || 'nothing'}`],
    ...result.signs.map(({ metric, value, seen }): [string, string] => [
      seen ? 'seen' : 'NOT SEEN',
      `${metric}: ${Math.round(value * 100) / 100}`,
    ]),
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`);
  return `\n${result.config}.yaml, ${result.name}: ${result.title}\n${lines.join('\n')}\n`;
}

/** All of them, a line each. */
export function resultTable(results: readonly FaultResult[]): string {
  const head = [
    'config',
    'fault',
    'promised',
    'equal',
    'lost',
    'twice',
    'conflicts',
    'drain s',
    'spans',
    'p50 ms before/fault',
  ];
  const rows = results.map(({ config, name, payloads, outcomes, drainSeconds, metadata, program }) => [
    config,
    name,
    payloads.promised,
    payloads.equal,
    payloads.missing.length + payloads.different.length,
    outcomes['duplicate'] ?? 0,
    outcomes['conflict'] ?? 0,
    drainSeconds.toFixed(0),
    metadata.inJaeger,
    `${program.times['before']?.p50.toFixed(1)}/${program.times['fault']?.p50.toFixed(1)}`,
  ]);
  const table = [head, ...rows].map((row) => row.map(String));
  const widths = head.map((_, i) => Math.max(...table.map((row) => row[i]?.length ?? 0)));
  return table
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
