import { describe, expect, it } from 'vitest';
import { tokenAt } from './text-tokens.ts';
import { isTimeForm, saysTime } from './time-texts.ts';

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
      expect(isTimeForm(text, text, MOMENT, MOMENT)).toBe(true);
    });
  }

  it('is one form of two moments to the letter: another day of the week, zone or language is another text', () => {
    const later = MOMENT + 100 * 86_400_000;
    const isForm = (form: (at: Date) => string, change = (text: string): string => text): boolean =>
      isTimeForm(form(new Date(MOMENT)), change(form(new Date(later))), MOMENT, later);
    expect(isForm((at) => at.toString())).toBe(true);
    expect(
      isForm(
        (at) => at.toString(),
        (text) => text.replace('GMT+', 'GMT-'),
      ),
    ).toBe(false);
    expect(
      isForm(
        (at) => at.toUTCString(),
        (text) => `Mon${text.slice(3)}`,
      ),
    ).toBe(false);
    expect(isForm((at) => at.toLocaleString('en-US', { timeZone: 'UTC' }))).toBe(true);
    expect(isForm((at) => at.toLocaleString('en-GB'))).toBe(false);
    expect(isForm((at) => at.toISOString().slice(0, 10))).toBe(true);
    expect(
      isForm(
        (at) => at.toISOString().slice(0, 10),
        (text) => `${text.slice(0, 8)}31`,
      ),
    ).toBe(false);
  });
});
