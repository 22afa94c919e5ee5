/** Values of options, parsed and refused with one line that says what would be right. */
import { OrangeboxError } from '@orangebox/schema';
import { escapeLine } from './text/escape.ts';

const UNIT_MS: { readonly [unit: string]: number } = { s: 1e3, m: 6e4, h: 36e5, d: 864e5, w: 6048e5 };

/** `15m`, `2h`, `3d` back from now, `today`, `yesterday`, or a date or time that `Date` reads. Unix milliseconds. */
export function parseTime(text: string, nowMs: number): number {
  const ago = /^(\d+(?:\.\d+)?)\s*([smhdw])$/.exec(text.trim());
  if (ago) return nowMs - Number(ago[1]) * (UNIT_MS[ago[2] ?? ''] ?? 0);
  const midnight = new Date(nowMs).setHours(0, 0, 0, 0);
  if (text === 'today') return midnight;
  if (text === 'yesterday') return new Date(midnight - 1).setHours(0, 0, 0, 0);
  // A bare date means local midnight; `Date` alone would read it as UTC.
  const time = new Date(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00` : text).getTime();
  if (Number.isNaN(time)) {
    throw usage(`"${escapeLine(text)}" is not a time`, 'use 15m, 2h, 3d, today, 2026-03-01 or 2026-03-01T14:00:00Z');
  }
  return time;
}

/** A length of time, `90s`, `5m`, `2h`; a bare number is seconds. Milliseconds. */
export function parseDuration(text: string, option: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*([smhdw]?)$/.exec(text.trim());
  if (match) return Number(match[1]) * (UNIT_MS[match[2] === '' ? 's' : (match[2] ?? '')] ?? 0);
  throw usage(
    `${option} takes a length of time, not "${escapeLine(text)}"`,
    `90s, 5m or 2h; before another word write ${option}=60s`,
  );
}

/** A whole number of at least `min`. */
export function parseCount(text: string, what: string, min: number, max: number = Number.MAX_SAFE_INTEGER): number {
  const n = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(n >= min && n <= max)) {
    const range = max === Number.MAX_SAFE_INTEGER ? `of ${min} or more` : `from ${min} to ${max}`;
    throw usage(
      `${what} must be a whole number ${range}, not "${escapeLine(text)}"`,
      `for example ${Math.max(min, 10)}`,
    );
  }
  return n;
}

/** `virtual` (no time passes: undefined), `recorded` (1), or so many times faster than that: `x10`. */
export function parseSpeed(text: string | undefined, option: string): number | undefined {
  if (text === undefined || text === 'virtual') return undefined;
  if (text === 'recorded') return 1;
  const speed = Number(/^x(\d{1,6}(?:\.\d{1,6})?)$/.exec(text)?.[1] ?? 0);
  if (speed > 0) return speed;
  throw usage(`${option} takes virtual, recorded or a speed, not "${escapeLine(text)}"`, `for example ${option} x10`);
}

/** An error of the command line itself. */
export function usage(message: string, hint: string): OrangeboxError {
  return new OrangeboxError('OBX_CLI_USAGE', message, { hint });
}
