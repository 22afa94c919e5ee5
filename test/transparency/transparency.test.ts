/** A sample of the transparency suite on the running version of Node.js; the lane of other versions runs it whole. */
import { expect, it } from 'vitest';
import { runSuite } from './suite/suite.mjs';
import { formatTable } from './suite/table.mjs';

it('shows a program the same values, order, errors and ending, and records each request once', async () => {
  const result = await runSuite({ nodes: [process.execPath], sample: true });
  const failed = result.rows.filter(({ cells }) => cells.some((cell) => cell.result === 'failed'));
  expect(failed.length === 0 ? '' : formatTable(result)).toBe('');
  expect(result.rows.length).toBeGreaterThan(20);
}, 300_000);
