/** Two faults of the drill (`npm run drill:pipeline -- faults` has them all), short: nothing is lost, and it is seen. */
import { expect, it } from 'vitest';
import { FAULTS } from './faults/fault-list.ts';
import { describeResult } from './faults/fault-report.ts';
import { runFault } from './faults/faulty-run.ts';

const sample = FAULTS.filter(({ name }) => name === 's3-down' || name === 'collector-killed');

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
