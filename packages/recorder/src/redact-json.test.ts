import { createRedactor } from '@orangebox/codec';
import { describe, expect, it } from 'vitest';
import { redactJson } from './redact-json.ts';

const clean = (value: unknown, ...patterns: RegExp[]): ReturnType<typeof redactJson> =>
  redactJson(value, createRedactor({ secrets: [], patterns }), 'metadata');

describe('values', () => {
  it('come back as they are where nothing in them is secret', () => {
    const value = { scope: ['planner', 'research'], n: 1 };
    expect(clean(value).value).toBe(value);
  });

  it('keep their shape whatever a pattern matches', () => {
    const value = { session: { id: 'trip-7' }, note: 'my password is tulip', more: ['x', 5] };
    const { value: copy, redactions } = clean(value, /password.*/);
    expect(copy).toEqual({ session: { id: 'trip-7' }, note: 'my {{secret:pattern1.2}}', more: ['x', 5] });
    expect(redactions).toEqual([{ where: 'metadata', token: '{{secret:pattern1.2}}', count: 1 }]);
  });

  it('are searched however short they are', () => {
    expect(clean({ t: 'id-77' }, /id-\d+/).value).toEqual({ t: '{{secret:pattern1}}' });
  });

  it('lose a number that is a secret', () => {
    expect(
      clean({ user: 'somebody', card: 4_111_111_111_111, cards: [4_111_111_111_111, 3] }, /4111\d+/).value,
    ).toEqual({
      user: 'somebody',
      cards: [null, 3],
    });
  });

  it('without a JSON form are none', () => {
    expect(clean({ count: 1n, text: 'long enough to be looked at' })).toEqual({ redactions: [] });
  });
});
