import { describe, expect, it } from 'vitest';
import { asked, onRecord } from '../testing/requests.ts';
import { createMatcher } from './matcher.ts';
import { parseMatchRules } from './rules.ts';
import type { MatchRule } from './types.ts';

const BUILD: MatchRule = {
  reason: 'the build number is of no matter',
  at: 'body.messages[*].content',
  pattern: 'build \\d+',
};

function matched(rules: MatchRule[], recorded: object, live: object): unknown {
  const matcher = createMatcher(onRecord({ body: recorded }), { rules });
  const result = matcher.match(asked({ body: live }));
  return result.kind === 'matched'
    ? { rung: result.rung, rules: result.rules, report: matcher.report() }
    : result.reason;
}

const saying = (...texts: string[]): object => ({ messages: texts.map((content) => ({ role: 'user', content })) });

describe('a declared rule', () => {
  it('lets what it names differ, is counted, and shows when it was not needed', () => {
    const unused: MatchRule = { reason: 'never', at: 'header.x-never' };
    expect(matched([unused, BUILD], saying('build 12 on', 'Hi'), saying('build 7 on', 'Hi'))).toMatchObject({
      rung: 'rule',
      rules: [1],
      report: {
        rungs: { rule: 1 },
        rules: [
          { rule: unused, uses: 0 },
          { rule: BUILD, uses: 1 },
        ],
      },
    });
  });

  it('is not needed where the request is the recorded one', () => {
    expect(matched([BUILD], saying('build 12'), saying('build 12'))).toMatchObject({ rung: 'exact' });
  });

  it('lets nothing else differ: neither around its pattern, nor elsewhere', () => {
    expect(matched([BUILD], saying('build 12 on'), saying('build 7 off'))).toBe('changed');
    expect(matched([BUILD], saying('build 12', 'Hi'), saying('build 7', 'Ho'))).toBe('changed');
    expect(matched([BUILD], saying('build 12'), saying('build 7', 'more'))).toBe('changed');
  });

  it('without a pattern lets any value at its place differ, also one that is absent', () => {
    const rule: MatchRule = { reason: 'a stamp', at: 'body.meta' };
    expect(matched([rule], { meta: { a: 1 }, b: 1 }, { meta: { a: 2 }, b: 1 })).toMatchObject({ rung: 'rule' });
    expect(matched([rule], { meta: { a: 1 }, b: 1 }, { b: 1 })).toMatchObject({ rung: 'rule' });
    expect(matched([rule], { meta: 1, metadata: 1 }, { meta: 1, metadata: 2 })).toBe('changed');
  });

  it('may be for one method and one host only', () => {
    const at = 'body.a';
    expect(matched([{ reason: 'r', at, host: 'api.openai.com', method: 'post' }], { a: 1 }, { a: 2 })).toMatchObject({
      rung: 'rule',
    });
    expect(matched([{ reason: 'r', at, host: 'example.org' }], { a: 1 }, { a: 2 })).toBe('changed');
    expect(matched([{ reason: 'r', at, method: 'GET' }], { a: 1 }, { a: 2 })).toBe('changed');
  });

  it('takes `**` for any depth', () => {
    const rule: MatchRule = { reason: 'r', at: 'body.**.stamp' };
    expect(matched([rule], { a: [{ b: { stamp: 1 } }] }, { a: [{ b: { stamp: 2 } }] })).toMatchObject({ rung: 'rule' });
  });
});

describe('rules as data', () => {
  it('are a list, or the member `rules` of an object', () => {
    expect(parseMatchRules([BUILD])).toEqual([BUILD]);
    expect(parseMatchRules({ rules: [BUILD] })).toEqual([BUILD]);
  });

  const refused: [data: unknown, message: string][] = [
    [{}, 'rules are a list'],
    ['x', 'rules are a list'],
    [[1], 'rule 1 is no object'],
    [[BUILD, { at: 'body' }], 'rule 2 has no reason'],
    [[{ reason: ' ', at: 'body' }], 'rule 1 has no text for reason'],
    [[{ reason: 'r' }], 'rule 1 does not say where'],
    [[{ reason: 'r', at: 'body', pattern: '(' }], 'rule 1 has a pattern that is no regular expression'],
    [[{ reason: 'r', at: 'body', similar: true }], 'rule 1 has a member that is not known: similar'],
    [[{ reason: 'r', at: 'x'.repeat(3000) }], 'rule 1 has a at that is too long'],
    [Array(2000).fill(BUILD), 'more than 1000'],
  ];
  for (const [data, message] of refused) {
    it(`are refused: ${message}`, () => {
      expect(() => parseMatchRules(data)).toThrowError(expect.objectContaining({ code: 'OBX_CLI_MATCH_RULES' }));
      expect(() => parseMatchRules(data)).toThrowError(message);
    });
  }
});
