/** A sample of `npm run drill:kill`, which takes 1,000 kills, 300 exits and 100 disks. */
import { expect, it } from 'vitest';
import { runDeaths } from './kill/deaths.mjs';
import { canFillDisks, runFullDisks } from './kill/full-disks.mjs';

it.each([
  { kind: 'kill', runs: 16 },
  { kind: 'exit', runs: 8 },
] as const)(
  'programs that end by $kind at a random moment lose no call',
  { timeout: 120_000 },
  async ({ kind, runs }) => {
    const { sums, wrong } = await runDeaths({ kind, runs });
    expect(wrong).toEqual([]);
    expect(sums.runs).toBe(runs);
    expect(sums.recorded).toBeGreaterThanOrEqual(sums.seen);
    expect(sums.seen).toBeGreaterThan(runs);
  },
);

it.skipIf(!canFillDisks)(
  'programs whose disk fills up go on, and what is not kept is told',
  { timeout: 120_000 },
  async () => {
    const { sums, wrong } = await runFullDisks({ runs: 4 });
    expect(wrong).toEqual([]);
    expect(sums.kept + sums.unkept).toBe(sums.calls);
  },
);
