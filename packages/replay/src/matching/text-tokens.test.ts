import { describe, expect, it } from 'vitest';
import { tokenAt } from './text-tokens.ts';
import { formOfTime, saysTime } from './time-texts.ts';

/** The pieces of a text that are values. */
function values(text: string): string[] {
  const out: string[] = [];
  for (let at = 0; at < text.length; ) {
    const token = tokenAt(text, at);
    if (token.kind !== 'other' && token.kind !== 'word') out.push(`${token.kind} ${token.text}`);
    at += token.text.length;
  }
  return out;
}

const MOMENT = Date.UTC(2026, 6, 30, 16, 5, 1, 234);

describe('a text', () => {
  it('is cut into whole values', () => {
    expect(values('run 1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed took 12ms, 3.5 s, v2 of 2026-07-30T16:05:01.234Z')).toEqual(
      ['uuid 1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed', 'number 12', 'number 3.5', 'time 2026-07-30T16:05:01.234Z'],
    );
  });

  const written = [
    '2026-07-30T16:05:01.234Z',
    '2026-07-30',
    '2026-07-30 16:05',
    new Date(MOMENT).toUTCString(),
    new Date(MOMENT).toString(),
    new Date(MOMENT).toDateString(),
    new Date(MOMENT).toLocaleString('en-US'),
    new Date(MOMENT).toLocaleDateString('en-US'),
    new Date(MOMENT).toLocaleTimeString('en-US'),
    new Date(MOMENT).toLocaleDateString('en-US', { dateStyle: 'long' }),
    new Date(MOMENT).toLocaleDateString('en-US', { dateStyle: 'full' }),
    new Date(MOMENT).toLocaleDateString('en-US', { dateStyle: 'medium' }),
  ];
  for (const text of written) {
    it(`says its moment and no other: ${text}`, () => {
      expect(values(`at ${text}!`)).toEqual([`time ${text}`]);
      expect(saysTime(text, MOMENT)).toBe(true);
      expect(saysTime(text, MOMENT + 3 * 86_400_000 + 7_000_000)).toBe(false);
    });
  }

  it('has the same form on another day, and another form in another language', () => {
    const form = (at: number, locale: string): string => formOfTime(new Date(at).toLocaleString(locale));
    expect(form(MOMENT, 'en-US')).toBe(form(MOMENT + 100 * 86_400_000, 'en-US'));
    expect(form(MOMENT, 'en-US')).not.toBe(form(MOMENT, 'en-GB'));
    expect(formOfTime('10:00:00.1')).not.toBe(formOfTime('10:00:00.12'));
  });
});
