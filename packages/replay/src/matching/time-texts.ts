/** Texts that say a time: whether a moment is what they say, and whether two are written in one form. */

const DAY_MS = 86_400_000;
const ISO_DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const TIME_OF_DAY = /^(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(?:[ \u202f]([AP])M)?$/;

/** Whether a text says the moment `atMs`, local or in UTC. A first look: names of days and zones are not read. */
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

/** Whether two texts are one form of two moments, to the letter. */
export function isTimeForm(recorded: string, live: string, recordedMs: number, liveMs: number): boolean {
  if (!saysTime(recorded, recordedMs)) return false;
  return timeForms().some((form) => form(recordedMs) === recorded && form(liveMs) === live);
}

type TimeForm = (atMs: number) => string;

let forms: TimeForm[] | undefined;

/** Made when they are first needed: formats of `Intl` take time to make. */
function timeForms(): TimeForm[] {
  return (forms ??= [
    (at) => new Date(at).toUTCString(),
    (at) => new Date(at).toString(),
    (at) => new Date(at).toDateString(),
    ...isoForms((at) => new Date(at).toISOString()),
    ...isoForms((at) => new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString()),
    ...[undefined, 'UTC'].flatMap(englishForms),
  ]);
}

/** Pieces of an ISO time: with and without its date, clock, seconds, milliseconds and zone. */
function isoForms(iso: TimeForm): TimeForm[] {
  const pieces: readonly (readonly [from: number, to: number])[] = [[0, 10], [0, 16], [0, 19], [0, 23], [0, 24], [11, 16], [11, 19], [11, 23]]; // biome-ignore format: pairs
  const slices = pieces.map(
    ([from, to]): TimeForm =>
      (at) =>
        iso(at).slice(from, to),
  );
  const spaced = slices.map(
    (slice): TimeForm =>
      (at) =>
        slice(at).replace('T', ' '),
  );
  const wholeSeconds: TimeForm = (at) => iso(at).replace(/\.\d{3}Z$/, 'Z');
  return [...slices, ...spaced, wholeSeconds];
}

function englishForms(timeZone: string | undefined): TimeForm[] {
  const zone = timeZone === undefined ? {} : { timeZone };
  const styles = ['full', 'long', 'medium', 'short'] as const;
  const clocks = ['medium', 'short'] as const;
  const options: Intl.DateTimeFormatOptions[] = [
    {},
    { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' },
    ...styles.map((dateStyle) => ({ dateStyle })),
    ...clocks.map((timeStyle) => ({ timeStyle })),
    ...styles.flatMap((dateStyle) => clocks.map((timeStyle) => ({ dateStyle, timeStyle }))),
  ];
  return options.map((option): TimeForm => {
    const format = new Intl.DateTimeFormat('en-US', { ...option, ...zone });
    return (at) => format.format(at);
  });
}
