/** Faults under load: what is lost (nothing), and what an operator sees. With `--quick` each is short. */
import { appendFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { FAULTS } from '../faults/fault-list.ts';
import { describeResult, resultTable } from '../faults/fault-report.ts';
import { runFault } from '../faults/faulty-run.ts';

const quick = process.env.PIPELINE_QUICK !== undefined;
const results = [];

afterAll(() => process.stdout.write(`\n${resultTable(results)}\n`));

describe.each(['collector', 'queue'])('%s.yaml', (config) => {
  it.each(FAULTS)('$name: nothing is lost, and it is seen', async (fault) => {
    const result = await runFault(fault, config, quick);
    results.push(result);
    process.stdout.write(describeResult(result));
    // Everything that moved, for whoever looks for a better sign.
    if (process.env.PIPELINE_NEWS) {
      appendFileSync(process.env.PIPELINE_NEWS, `${config} ${fault.name}\n  ${result.news.join('\n  ')}\n`);
    }
    expect(result.payloads).toMatchObject({ different: [], strange: 0 });
    expect(result.payloads.promised).toBe(result.program.calls);
    expect(result.payloads.missing).toEqual([]);
    // Spans that a killed collector held in memory are gone; with queue.yaml it holds none there.
    if (config === 'queue' || fault.name !== 'collector-killed') {
      expect(result.metadata.inJaeger).toBe(result.metadata.promised);
    }
    expect(result.outcomes).toMatchObject({ conflict: 0, quarantined: 0, rejected: 0 });
    expect(result.program).toMatchObject({ code: 0, failed: 0, answersRight: true });
    // Each thing is said once.
    expect(new Set(result.program.stderr).size).toBe(result.program.stderr.length);
    expect(result.signs.filter(({ seen }) => !seen)).toEqual([]);
  });
});
