import { randomBytes } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { IndexRow } from '@orangebox/schema';
import { filterReach, IndexFilter, indexTerm, mayHold } from './index-filter.ts';

const rowOf = (session: string, spanId: string, more: Partial<IndexRow> = {}): IndexRow =>
  ({
    trace: { traceId: '', spanId, sampled: true },
    session: { id: session },
    scope: [],
    ...more,
  }) as unknown as IndexRow;

const span = (): string => randomBytes(8).toString('hex');

describe('the filter of an index object', () => {
  it('stands in the header of a gzip that unpacks as before, also of several in a row', () => {
    const filter = new IndexFilter();
    filter.add(rowOf('s', span()));
    const packed = Buffer.concat([gzipSync('one\n'), gzipSync('two\n')]);
    expect(gunzipSync(filter.stamp(packed)).toString()).toBe('one\ntwo\n');
    expect(gunzipSync(new IndexFilter().stamp(gzipSync('')))).toHaveLength(0);
  });

  it('knows all that a row is found by, and little else', () => {
    const filter = new IndexFilter();
    const rows = Array.from({ length: 700 }, (_, i) => rowOf(`session-${i % 90}`, span()));
    const [attempt, asked] = [span(), span()];
    rows.push(
      rowOf('ä "quoted"', asked, {
        session: { id: 'ä "quoted"', seq: 0, basis: 'declared', userId: 'user-1' },
        attemptSpanIds: [attempt],
        scope: [{ kind: 'agent', name: 'planner', id: '1' }],
        tool: { name: 'run_it', basis: 'wrapped', failed: false },
        summary: { ending: 'complete', attempts: 1, stream: false, toolCalls: [{ name: 'get_time' }] },
      }),
    );
    for (const row of rows) filter.add(row);
    const gzip = filter.stamp(gzipSync(randomBytes(180_000)));
    const start = gzip.subarray(0, filterReach(gzip.length));
    expect(start.length).toBeLessThan(gzip.length / 20);
    const terms = [
      ...rows.flatMap(({ trace, session }) => [
        indexTerm.span(trace.spanId),
        indexTerm.spanPrefix(trace.spanId.slice(0, 9)) ?? '',
        indexTerm.session(session?.id ?? ''),
      ]),
      indexTerm.span(attempt),
      indexTerm.user('user-1'),
      indexTerm.scope('planner'),
      indexTerm.tool('run_it'),
      indexTerm.tool('get_time'),
    ];
    expect(terms.filter((term) => !mayHold(start, term))).toEqual([]);
    const wrong = Array.from({ length: 2_000 }, () => indexTerm.span(span())).filter((term) => mayHold(start, term));
    expect(wrong.length).toBeLessThan(60);
    // One kind of term is not taken for another.
    expect(mayHold(start, indexTerm.user('planner'))).toBe(false);
    expect(indexTerm.spanPrefix('abc')).toBeUndefined();
  });

  it('says no of nothing that it does not know: no filter, a cut one, one of another version', () => {
    const filter = new IndexFilter();
    for (let i = 0; i < 1_000; i += 1) filter.add(rowOf(String(i), span()));
    const gzip = filter.stamp(gzipSync('x'));
    const unknown = indexTerm.session('unknown');
    expect(mayHold(gzip, unknown)).toBe(false);
    for (const start of [
      gzipSync('x'),
      gzip.subarray(0, 500),
      gzip.subarray(0, 15),
      Buffer.alloc(0),
      randomBytes(5_000),
    ]) {
      expect(mayHold(start, unknown)).toBe(true);
    }
    const newer = Buffer.from(gzip);
    newer[16] = 2;
    expect(mayHold(newer, unknown)).toBe(true);
    newer.set([0x58, 0x58], 12);
    expect(mayHold(newer, unknown)).toBe(true);
  });

  it('fits into a header whatever the number of terms', () => {
    const filter = new IndexFilter();
    const ids = Array.from({ length: 80_000 }, span);
    for (const id of ids) filter.add(rowOf('s', id));
    const gzip = filter.stamp(gzipSync('all of it'));
    expect(gunzipSync(gzip).toString()).toBe('all of it');
    expect(ids.every((id) => mayHold(gzip, indexTerm.span(id)))).toBe(true);
  });
});
