/** Random series, cut into files at random, swept to random sizes: whatever is left loads, and nothing went out of turn. */
import { expect, test } from 'vitest';
import { Pace } from '../../../packages/recorder/src/retention/pace.ts';
import { rewriteFs } from '../../../packages/recorder/src/retention/rewrite.ts';
import { Sweeper } from '../../../packages/recorder/src/retention/sweep.ts';
import type { SegmentRecord } from '@orangebox/schema';
import { type MadeCall, type MadeCalls, makeCalls, shippedRecord, TestDirectory } from './series.ts';

const NOW = 1_700_000_100_000;
const ROUNDS = 8;

/** A small generator of numbers with a seed, so that a failure can be seen again. */
function randomOf(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 + 1;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e37_79b9) | 0;
    return ((state >>> 0) ^ (state >>> 13)) % below;
  };
}

interface Known {
  call: MadeCall;
  group: number;
}

/** Interleaves calls, keeping the order within each, and cuts the whole at random. */
function cut({ calls }: MadeCalls, known: Known[], random: (below: number) => number): SegmentRecord[][] {
  const queues = calls.map((call, i) => {
    const isShipped = call.key !== undefined && random(2) === 0;
    const isFailed = i % 3 === 2;
    const isOpen = i % 7 === 6;
    known.push({ call, group: isOpen ? 4 : isFailed ? (isShipped ? 3 : 4) : isShipped ? 1 : 2 });
    return [...call.records, ...(isShipped ? [shippedRecord(call)] : [])];
  });
  const files: SegmentRecord[][] = [[]];
  let open = queues.filter((queue) => queue.length > 0);
  while (open.length > 0) {
    const queue = open[random(Math.min(3, open.length))];
    const record = queue?.shift();
    if (record) files.at(-1)?.push(record);
    if (random(9) === 0) files.push([]);
    open = open.filter((one) => one.length > 0);
  }
  return files;
}

test('random series stay whole, and go in the order of their classes', { timeout: 120_000 }, async () => {
  const scripts = Array.from({ length: 21 }, (_, i) => ({
    status: i % 3 === 2 ? 400 : 200,
    open: i % 7 === 6,
    responseChunks: [new Uint8Array(100 + i * 90).fill(0x61), new Uint8Array(50).fill(0x62)],
  }));
  const processes = [makeCalls(scripts), makeCalls(scripts)];
  for (let seed = 1; seed <= ROUNDS; seed++) {
    const random = randomOf(seed);
    const box = new TestDirectory();
    try {
      const known: Known[] = [];
      processes.forEach((made, i) => {
        box.write(made.process, cut(made, known, random), { startUnixMs: 1_600_000_000_000 + i, pid: 4_190_000 + i });
      });
      let left = await box.load();
      expect(left.size, `seed ${seed}`).toBe(known.length);
      for (let round = 0; round < 4 && left.size > 0; round++) {
        const keepBytes = Math.floor((box.sizeBytes * random(100)) / 100);
        const result = await new Sweeper(rewriteFs, () => new Pace(0.2, 0)).sweep(box.scope({ keepBytes }), NOW);
        const now = await box.load();
        const about = `seed ${seed}, round ${round}`;
        expect(
          [...now].every((span) => left.has(span)),
          about,
        ).toBe(true);
        expect(result.totalBytes, about).toBe(box.sizeBytes);
        expect(result.failures.count, about).toBe(0);
        const gone = known.filter(({ call }) => left.has(call.spanId) && !now.has(call.spanId));
        const kept = known.filter(({ call }) => now.has(call.spanId));
        const { sent, unsent } = result.losses.dir_bytes;
        expect(sent + unsent, about).toBe(gone.length);
        const worst = Math.max(0, ...gone.map(({ group }) => group));
        expect(
          kept.filter(({ group }) => group < worst),
          about,
        ).toEqual([]);
        left = now;
      }
    } finally {
      box.dispose();
    }
  }
});
