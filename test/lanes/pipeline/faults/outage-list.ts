/** Outages as long as they are in bad weeks: their figures are those of `docs/faults.md`. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Fault } from './faulty-run.ts';
import { pendingSigns } from './fault-list.ts';

/** Times that the collector is killed. */
const KILLS = 20;
/** Calls a second through outages of ten minutes: two of them make more than the 5,000 that are asked for. */
const SLOW_LOAD = { perSecond: 5 };

/** All of them. */
export const OUTAGES: readonly Fault[] = [
  {
    name: 's3-down-long',
    title: 'S3 down for 10 minutes',
    load: () => SLOW_LOAD,
    async happen({ servers: { weed }, seconds }) {
      await weed?.kill('SIGKILL');
      await seconds(600, 8);
      await weed?.restart();
    },
    signs: pendingSigns,
  },
  {
    name: 'collector-down-long',
    title: 'collector down for 10 minutes',
    load: () => SLOW_LOAD,
    recoversSpans: true,
    // Its page is gone, and the metrics of the programs with it.
    async happen({ servers: { collector }, seconds }) {
      await collector.kill('SIGKILL');
      // Longer than an exporter tries.
      await seconds(600, 25);
      await collector.restart();
    },
    signs: () => [{ metric: 'up{job="collector"} == 0', pattern: 'collector', above: 0 }],
  },
  {
    name: 'collector-killed-20',
    title: `collector killed ${KILLS} times`,
    async happen({ servers: { collector }, watch, quick }) {
      for (let n = 0; n < (quick ? 3 : KILLS); n++) {
        await wait(300 + Math.random() * 2200);
        await watch.look('collector');
        await collector.kill('SIGKILL');
        await wait(Math.random() * 700);
        await collector.restart();
      }
    },
    signs: () => [{ metric: 'up{job="collector"} == 0', pattern: 'collector', above: 0 }],
  },
  {
    name: 'connections-cut',
    title: 'connections cut in the middle of requests for 2 minutes',
    isCut: true,
    async happen({ cutting, seconds }) {
      if (!cutting) throw new Error('there is no proxy that cuts');
      cutting.isCutting = true;
      await seconds(120, 8);
      cutting.isCutting = false;
    },
    signs: () => [],
  },
];
