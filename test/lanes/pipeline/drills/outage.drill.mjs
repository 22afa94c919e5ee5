/**
 * Outages against the real collector and S3 store: S3 and the collector down for ten minutes, the collector killed twenty times,
 * connections cut in the middle of requests, a program killed in an outage. Side by side, each with servers of its own. With
 * `--quick` each is short.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeResult, resultTable } from '../faults/fault-report.ts';
import { LOAD, runFault } from '../faults/faulty-run.ts';
import { killInOutage } from '../faults/killed-program.ts';
import { OUTAGES } from '../faults/outage-list.ts';
import { startSteadyProgram } from '../faults/steady-program.ts';
import { mebibytes, report } from './measured.mjs';

const quick = process.env.PIPELINE_QUICK !== undefined;
/** `ORANGEBOX_MEMORY_BYTES`, and code, heap and the snapshots of 12 MiB that are being made and sent. */
const ADDED_MAX_BYTES = 64 * 2 ** 20 + 128 * 2 ** 20;
/** Some more than the calls that a program makes while the collector gathers a batch. */
const SPANS_OF_A_SECOND = 20;
const results = [];
let bareBytes = 0;

beforeAll(async () => {
  // The same program without Orangebox, until two of its large calls were made.
  const program = await startSteadyProgram(LOAD, {}, false);
  await wait(18_000);
  await program.stopCalls();
  bareBytes = program.peakRssBytes();
  await program.remove();
}, 120_000);

afterAll(() => {
  const calls = results.reduce((sum, { program }) => sum + program.calls, 0);
  process.stdout.write(`\n${resultTable(results)}\n`);
  report('The program under outages', {
    'calls in all': calls,
    lost: results.reduce((sum, { payloads }) => sum + payloads.missing.length + payloads.different.length, 0),
    'sent twice': results.reduce((sum, { outcomes }) => sum + outcomes.duplicate, 0),
    'peak RSS without Orangebox': mebibytes(bareBytes),
    ...Object.fromEntries(results.map(({ name, program }) => [`peak RSS, ${name}`, mebibytes(program.peakRssBytes)])),
    'connections cut': results.reduce((sum, { cuts }) => sum + cuts, 0),
  });
});

describe.concurrent('nothing is lost', () => {
  it.each(OUTAGES)('$title', async (fault) => {
    const result = await runFault(fault, 'collector', quick);
    results.push(result);
    process.stdout.write(describeResult(result));
    expect(result.payloads).toMatchObject({ missing: [], different: [], strange: 0, promised: result.program.calls });
    expect(result.outcomes).toMatchObject({ conflict: 0, quarantined: 0, rejected: 0 });
    expect(result.program).toMatchObject({ code: 0, failed: 0, answersRight: true });
    expect(new Set(result.program.stderr).size).toBe(result.program.stderr.length);
    expect(result.program.peakRssBytes - bareBytes).toBeLessThan(ADDED_MAX_BYTES);
    expect(result.signs.filter(({ seen }) => !seen)).toEqual([]);
    if (fault.isCut) expect(result.cuts).toBeGreaterThan(0);
    if (result.recovered) {
      const { promised, inJaeger, output } = result.recovered;
      report(`Spans, ${fault.title}`, {
        'of calls': promised,
        'in Jaeger by the program': result.metadata.inJaeger,
        'in Jaeger after recovery': inJaeger,
      });
      // What a collector had taken and not passed on when it was killed, a second of it, is on nobody's list.
      expect(inJaeger, output).toBeGreaterThanOrEqual(promised - SPANS_OF_A_SECOND);
    }
  });

  it('of a program that is killed in an outage, once it is recovered', async () => {
    const { requests, before, payloads, recovered, seconds } = await killInOutage(quick ? 6 : 60);
    report('Program killed in an outage of S3', {
      'requests that its provider had whole': requests,
      'promised by its segments': before.promised,
      'stored when it was killed': before.equal,
      'promised after recovery': payloads.promised,
      'stored, bytes equal': payloads.equal,
      'recovered and stored in': `${seconds.toFixed(0)} s`,
    });
    expect(recovered).toMatchObject({ code: 0 });
    expect(payloads).toMatchObject({ missing: [], different: [], strange: 0 });
    expect(payloads.promised).toBeGreaterThanOrEqual(requests);
    expect(before.equal).toBeLessThan(payloads.equal);
  });
});
