import { describe, expect, it } from 'vitest';
import type { Divergence, DivergenceContext } from '../divergence/types.ts';
import { Course } from './course.ts';
import type { DeliveryQueue } from './delivery-queue.ts';
import { KEPT_DRAWS } from './draw-replay.ts';
import type { ProcessReport } from './process-report.ts';
import type { RecordedRun } from './recorded-run.ts';
import { Verdicts, type VerdictOptions } from './verdicts.ts';

const LIVE = { threadId: 0, argv: ['app.js'], node: 'v20.0.0', environment: { values: {}, hashes: {} } };
const CONTEXT = { kind: 'extra', event: 10_000, scope: [] } as const;

/** Verdicts on a run of so many values, and what the process would have ended with. */
function verdictsOf(explain: (context: DivergenceContext) => Divergence, recordedDraws = 0, liveDraws = 0) {
  const reports: ProcessReport[] = [];
  const draws = Array.from({ length: recordedDraws }, (_, seq) => ({ seq, source: 'Math.random', value: 0.5 }));
  const environment = { values: { constructor: 'x' }, hashes: {} };
  const run = { draws, start: { runId: 'run-0123456789ab', environment, node: 'v20.0.0' } };
  const options = {
    run: run as unknown as RecordedRun,
    live: LIVE,
    explain,
    stop: (report: ProcessReport): void => void reports.push(report),
  };
  const verdicts = new Verdicts(
    options as unknown as VerdictOptions,
    new Course({ stop: () => undefined } as DeliveryQueue),
  );
  const drawn = Array.from({ length: liveDraws }, (_, seq) => ({ seq, source: 'Math.random', value: '0.5' }));
  verdicts.from({ evidence: () => ({ liveDraws: drawn }), counts: () => ({}) as never });
  return { verdicts, reports };
}

describe('a verdict', () => {
  it('is given once', () => {
    const { verdicts, reports } = verdictsOf(() => ({ kind: 'extra' }) as Divergence);
    verdicts.diverge(CONTEXT);
    verdicts.diverge(CONTEXT);
    expect(reports.map(({ divergence }) => divergence?.kind)).toEqual(['extra']);
  });

  it('that a recording is made to break is no exception of the program, and ends the replay', () => {
    const { verdicts, reports } = verdictsOf(() => {
      throw new RangeError('Maximum call stack size exceeded');
    });
    verdicts.diverge(CONTEXT);
    expect(verdicts.attempt(() => 7)).toBe(7);
    expect(reports.map(({ failure }) => failure)).toEqual([
      { code: 'OBX_RUN_UNREADABLE', message: 'the replay could not go on: Maximum call stack size exceeded' },
    ]);
  });

  it('compares as many values on record as are known of the program, and reads no variable of the prototype', () => {
    const seen: DivergenceContext[] = [];
    const explain = (context: DivergenceContext): Divergence => {
      seen.push(context);
      return { kind: 'extra' } as Divergence;
    };
    verdictsOf(explain, 5000, KEPT_DRAWS).verdicts.diverge(CONTEXT);
    verdictsOf(explain, 5000, 10).verdicts.diverge(CONTEXT);
    expect(seen.map(({ recordedDraws }) => recordedDraws?.length)).toEqual([KEPT_DRAWS, 5000]);
    expect(seen[0]?.environment).toEqual([{ name: 'constructor', recorded: 'x' }]);
  });

  it('counts what was refused by name, up to a number of names', () => {
    const { verdicts, reports } = verdictsOf(() => ({ kind: 'extra' }) as Divergence);
    for (let i = 0; i < 5000; i++) verdicts.refused(`look-up of host-${i}`);
    verdicts.diverge(CONTEXT);
    expect(reports[0]?.refused).toHaveLength(1001);
    expect(reports[0]?.refused.reduce((sum, { count }) => sum + count, 0)).toBe(5000);
  });
});
