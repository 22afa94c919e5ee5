import { describe, expect, it } from 'vitest';
import { parseSample } from './sampling-config.ts';
import { isKept, type SampleBegin, type SampleEnd, verdictAtBegin } from './sampling-policy.ts';

/** The number that decides is the xor of the four words: here of the first alone. */
const traceOf = (share: number): string =>
  Math.floor(share * 0xff_ff_ff_ff)
    .toString(16)
    .padStart(8, '0')
    .padEnd(32, '0');
const LOW = traceOf(0.05);
const HIGH = traceOf(0.9);

describe('what is kept at the end', () => {
  const cases: [name: string, sample: string, end: Partial<SampleEnd>, kept: boolean][] = [
    ['a trace within the ratio', '0.1', { traceId: LOW }, true],
    ['no other', '0.1', { traceId: HIGH }, false],
    ['none at 0', '0', { traceId: traceOf(0) }, false],
    ['all at 1', '1', { traceId: traceOf(1) }, true],
    ['what failed', '0', { isError: true }, true],
    ['not what failed when errors are nothing special', '{"ratio":0,"errors":false}', { isError: true }, false],
    ['what was slow', '{"ratio":0,"slowMs":5000}', { durationMs: 5000 }, true],
    ['not what was nearly slow', '{"ratio":0,"slowMs":5000}', { durationMs: 4999 }, false],
    ['by model', '{"ratio":0,"rules":[{"model":"gpt-4*","ratio":1}]}', { model: 'gpt-4o-mini' }, true],
    ['not another model', '{"ratio":0,"rules":[{"model":"gpt-4*","ratio":1}]}', { model: 'gpt-3.5' }, false],
    ['not what has no model', '{"ratio":0,"rules":[{"model":"*","ratio":1}]}', {}, false],
    ['by route', '{"rules":[{"route":"POST /chat/*","ratio":0}]}', { route: 'POST /chat/7' }, false],
    ['not another method', '{"rules":[{"route":"POST /chat/*","ratio":0}]}', { route: 'GET /chat/7' }, true],
    ['not what serves nothing', '{"rules":[{"route":"*","ratio":0}]}', {}, true],
    ['stars within', '{"rules":[{"route":"* /a/*/b/*/c","ratio":0}]}', { route: 'PUT /a/1/b/2/b/3/c' }, false],
    ['stars that overlap nothing', '{"rules":[{"route":"ab*ba","ratio":0}]}', { route: 'aba' }, true],
    [
      'by metadata',
      '{"ratio":0,"rules":[{"metadata":{"tenant":"acme"},"ratio":1}]}',
      { metadata: { tenant: 'acme', x: 1 } },
      true,
    ],
    [
      'patterns of metadata',
      '{"ratio":0,"rules":[{"metadata":{"tenant":"ac*"},"ratio":1}]}',
      { metadata: { tenant: 'acme' } },
      true,
    ],
    ['numbers of metadata', '{"ratio":0,"rules":[{"metadata":{"tier":2},"ratio":1}]}', { metadata: { tier: 2 } }, true],
    [
      'not a text for a number',
      '{"ratio":0,"rules":[{"metadata":{"tier":2},"ratio":1}]}',
      { metadata: { tier: '2' } },
      false,
    ],
    [
      'not an inherited member',
      '{"ratio":0,"rules":[{"metadata":{"toString":"*"},"ratio":1}]}',
      { metadata: {} },
      false,
    ],
    [
      'all of a rule',
      '{"ratio":0,"rules":[{"model":"m","route":"GET /","ratio":1}]}',
      { model: 'm', route: 'GET /x' },
      false,
    ],
    [
      'by the first rule that fits',
      '{"rules":[{"model":"a*","ratio":0},{"model":"ab","ratio":1}]}',
      { model: 'ab' },
      false,
    ],
    ['by the ratio of a rule', '{"ratio":0,"rules":[{"model":"m","ratio":0.5}]}', { model: 'm', traceId: LOW }, true],
    ['what failed, whatever a rule says', '{"rules":[{"model":"*","ratio":0}]}', { model: 'm', isError: true }, true],
  ];
  it.each(cases)('%s', (_name, sample, end, kept) => {
    expect(isKept(parseSample(sample), { traceId: HIGH, isError: false, durationMs: 10, ...end })).toBe(kept);
  });

  it('looks at no metadata that answers with an error', () => {
    const metadata = {
      get tenant(): string {
        throw new Error('mine');
      },
    };
    const policy = parseSample('{"ratio":0,"rules":[{"metadata":{"tenant":"*"},"ratio":1}]}');
    expect(isKept(policy, { traceId: LOW, isError: false, durationMs: 1, metadata })).toBe(false);
  });
});

describe('what is told at the beginning', () => {
  const rule = (more: string): string => `{"ratio":0,"errors":false,"rules":[${more}]}`;
  const cases: [name: string, sample: string, begin: Partial<SampleBegin>, verdict: string][] = [
    ['everything is kept', '1', {}, 'kept'],
    ['a settled trace within the ratio', '0.1', { traceId: LOW }, 'kept'],
    ['a settled trace beyond it may fail', '0.1', { traceId: HIGH }, 'open'],
    ['a trace that may change', '0.1', {}, 'open'],
    ['nothing is kept', '{"ratio":0,"errors":false}', {}, 'not_kept'],
    [
      'a settled trace beyond the ratio where failing does not help',
      '{"ratio":0.1,"errors":false}',
      { traceId: HIGH },
      'not_kept',
    ],
    ['it may become slow', '{"ratio":0,"errors":false,"slowMs":1}', {}, 'open'],
    ['its model is not known yet', rule('{"model":"m","ratio":1}'), {}, 'open'],
    ['it has no model', rule('{"model":"m","ratio":1}'), { mayHaveModel: false }, 'not_kept'],
    ['whatever its model, it is kept', '{"rules":[{"model":"m","ratio":1}]}', {}, 'kept'],
    ['its route says it', rule('{"route":"GET /x","ratio":1}'), { route: 'GET /x' }, 'kept'],
    ['its metadata say it', rule('{"metadata":{"t":"a"},"ratio":1}'), { metadata: { t: 'a' } }, 'kept'],
    [
      'a rule that fits ends the search',
      rule('{"route":"GET /x","ratio":1},{"model":"m","ratio":0}'),
      { route: 'GET /x' },
      'kept',
    ],
  ];
  it.each(cases)('%s', (_name, sample, begin, verdict) => {
    expect(verdictAtBegin(parseSample(sample), { traceId: undefined, mayHaveModel: true, ...begin })).toBe(verdict);
  });
});

it.each([
  ['a lot', 'neither a ratio'],
  ['2', 'from 0 to 1'],
  ['-0.1', 'from 0 to 1'],
  ['null', 'not an object'],
  ['[]', 'not an object'],
  ['{"ratio":"0.1"}', 'from 0 to 1'],
  ['{"errors":1}', 'errors'],
  ['{"slowMs":"5s"}', 'slowMs'],
  ['{"rules":{}}', 'not a list'],
  ['{"rules":[{"model":"m"}]}', 'a rule has no ratio'],
  ['{"rules":[{"model":3,"ratio":1}]}', 'model of a rule'],
  ['{"rules":[{"metadata":{"a":[]},"ratio":1}]}', 'metadata of a rule'],
  ['{"ration":0.1}', '"ration" means nothing'],
  ['{"rules":[{"path":"/","ratio":1}]}', '"path" means nothing'],
])('says what is wrong with %s', (sample, message) => {
  expect(() => parseSample(sample)).toThrow(message);
});
