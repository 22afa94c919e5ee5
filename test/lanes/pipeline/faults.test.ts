/** Some faults of the drills (`npm run drill:pipeline -- faults outage` has them all), short: nothing is lost, and it is seen. */
import { expect, it } from 'vitest';
import { FAULTS } from './faults/fault-list.ts';
import { describeResult } from './faults/fault-report.ts';
import { runFault } from './faults/faulty-run.ts';
import { killInOutage } from './faults/killed-program.ts';
import { OUTAGES } from './faults/outage-list.ts';

const sample = [
  ...FAULTS.filter(({ name }) => name === 's3-down' || name === 'collector-killed'),
  ...OUTAGES.filter(({ name }) => name === 'connections-cut'),
];

it.concurrent.each(sample)('$name under load: every payload is in the store, and it is seen', async (fault) => {
  const result = await runFault(fault, 'collector', true);
  const { payloads, program, signs } = result;
  const told = describeResult(result);
  expect(payloads, told).toMatchObject({ missing: [], different: [], strange: 0, equal: program.calls });
  expect(program, told).toMatchObject({ code: 0, failed: 0, answersRight: true });
  expect(new Set(program.stderr).size).toBe(program.stderr.length);
  expect(
    signs.filter(({ seen }) => !seen),
    told,
  ).toEqual([]);
});

it.concurrent('a program that is killed while S3 is down: all of its calls are in the store once they are recovered', async () => {
  const { requests, before, payloads, recovered } = await killInOutage(5);
  expect(recovered, recovered.output).toMatchObject({ code: 0 });
  expect(payloads).toMatchObject({ missing: [], different: [], strange: 0 });
  expect(payloads.promised).toBeGreaterThanOrEqual(requests);
  expect(before.equal).toBeLessThan(payloads.equal);
});
