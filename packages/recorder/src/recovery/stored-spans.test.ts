import { expect, it } from 'vitest';
import type { Json } from '@orangebox/schema';
import { callSpanRecords } from '../otel/span-record.ts';
import { finishedSpans } from './stored-spans.ts';

const trace = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), parentSpanId: 'c'.repeat(16), sampled: true };
const facts = {
  name: 'chat m',
  startUnixNano: 1n,
  endUnixNano: 2n,
  attributes: { text: 't', yes: true, whole: 3, part: 0.5, list: ['a', 'b'] },
  status: { code: 'error' as const, message: 'why' },
  attempts: [
    {
      spanId: 'd'.repeat(16),
      name: 'POST',
      startUnixNano: 1n,
      endUnixNano: 2n,
      attributes: {},
      status: { code: 'unset' as const },
    },
  ],
};

it('gives the spans that were written, children first', () => {
  const { attempts, ...own } = facts;
  expect(finishedSpans(callSpanRecords(facts, trace, false))).toEqual(
    [
      {
        ...attempts[0],
        spanId: undefined,
        kind: 'client',
        trace: { traceId: trace.traceId, spanId: 'd'.repeat(16), parentSpanId: trace.spanId, sampled: true },
      },
      { ...own, kind: 'client', trace },
    ].map((span) => JSON.parse(JSON.stringify(span, bigintText), bigintBack) as unknown),
  );
});

it('leaves out what is no span, and attributes that are none', () => {
  const span = { traceId: trace.traceId, spanId: trace.spanId, startTimeUnixNano: '1', endTimeUnixNano: '2' };
  const hostile: Json[] = [
    null,
    1,
    [],
    {},
    { ...span, traceId: '0'.repeat(32) },
    { ...span, spanId: '../etc' },
    { ...span, startTimeUnixNano: '9'.repeat(40) },
    {
      ...span,
      attributes: [null, { key: 1 }, { key: 'x', value: { intValue: '9'.repeat(400) } }, { key: 'y', value: [] }],
    },
  ];
  const [only, ...others] = finishedSpans(hostile);
  expect(others).toEqual([]);
  expect(only).toMatchObject({ name: 'unknown', kind: 'internal', attributes: {}, status: { code: 'unset' } });
});

function bigintText(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `bigint ${value}` : value;
}

function bigintBack(_name: string, value: unknown): unknown {
  return typeof value === 'string' && value.startsWith('bigint ') ? BigInt(value.slice(7)) : value;
}
