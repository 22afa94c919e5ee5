/** Texts that say a time, and whether a moment is what they say. */

const DAY_MS = 86_400_000;
const ISO_DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const TIME_OF_DAY = /^(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(?:[ \u202f]([AP])M)?$/;

/** One form for texts that are written in the same way: digits, and the names of days and months, do not count. */
export function formOfTime(text: string): string {
  return text
    .replace(/(\.?)\d+/g, (digits, point: string) => (point === '' ? '0' : `.${'0'.repeat(digits.length - 1)}`))
    .replace(/[A-Z][a-z]{2,8}/g, 'Name')
    .replace(/\b[AP]M\b/, 'xM');
}

/** Whether a text, written as a program may write it, says the moment `atMs`. */
export function saysTime(text: string, atMs: number): boolean {
  const ofDay = TIME_OF_DAY.exec(text);
  if (ofDay) return saysTimeOfDay(ofDay, atMs);
  const precisionMs = precisionOf(text);
  const day = ISO_DATE.exec(text);
  if (day)
    return (
      isWithin(Date.UTC(+(day[1] ?? 0), +(day[2] ?? 1) - 1, +(day[3] ?? 1)), atMs, DAY_MS) || isLocalDay(day, atMs)
    );
  const parsed = Date.parse(text.replace(/ at (?=\d)/, ', ').replace('\u202f', ' '));
  if (Number.isNaN(parsed)) return false;
  if (isWithin(parsed, atMs, precisionMs)) return true;
  // Without a zone the text is local or UTC, as the program likes.
  const isZoned = /(?:Z|GMT|[+-]\d{2}:?\d{2})(?:[ (]|$)/.test(text);
  return !isZoned && isWithin(parsed - new Date(parsed).getTimezoneOffset() * 60_000, atMs, precisionMs);
}

function isWithin(from: number, atMs: number, forMs: number): boolean {
  return atMs >= from && atMs < from + forMs;
}

function isLocalDay(day: RegExpExecArray, atMs: number): boolean {
  const at = new Date(atMs);
  return at.getFullYear() === Number(day[1]) && at.getMonth() + 1 === Number(day[2]) && at.getDate() === Number(day[3]);
}

function precisionOf(text: string): number {
  const fraction = /:\d{2}\.(\d+)/.exec(text)?.[1];
  if (fraction !== undefined) return fraction.length >= 3 ? 1 : 10 ** (3 - fraction.length);
  if (/:\d{2}:\d{2}/.test(text)) return 1000;
  return /:\d{2}/.test(text) ? 60_000 : DAY_MS;
}

function saysTimeOfDay(parts: RegExpExecArray, atMs: number): boolean {
  const [, hour = '0', minute = '0', second, fraction, half] = parts;
  const hours = half === undefined ? Number(hour) : (Number(hour) % 12) + (half === 'P' ? 12 : 0);
  const at = new Date(atMs);
  const isLocal = at.getHours() === hours && at.getMinutes() === Number(minute);
  const isUtc = at.getUTCHours() === hours && at.getUTCMinutes() === Number(minute);
  if (!isLocal && !isUtc) return false;
  if (second !== undefined && at.getSeconds() !== Number(second)) return false;
  return (
    fraction === undefined ||
    Math.floor(at.getMilliseconds() / 10 ** (3 - Math.min(3, fraction.length))) === Number(fraction.slice(0, 3))
  );
}
