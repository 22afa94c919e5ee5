/** How programs write numbers that they drew: each form tells whether a text is a number in it. */

/** Sizes of ranges that programs draw whole numbers from; small ones would explain anything. */
const RANGES: readonly { from: number; size: number }[] = [
  ...[3, 4, 5, 6, 7, 8, 9, 10, 12].flatMap((digits) => [
    { from: 0, size: 10 ** digits },
    { from: 10 ** (digits - 1), size: 9 * 10 ** (digits - 1) },
  ]),
  ...[10, 12, 16, 20, 24, 31, 32, 48, 53].map((bits) => ({ from: 0, size: 2 ** bits })),
  { from: 0, size: Number.MAX_SAFE_INTEGER },
];
const RADIXES: readonly number[] = [36, 16, 32, 10];
/** Fewer digits of a fraction would explain anything. */
const FRACTION_DIGITS_MIN = 4;

/** Whether two texts are the same form of two numbers between 0 and 1, such as those of `Math.random()`. */
export function isFractionForm(recorded: string, live: string, recordedDraw: number, liveDraw: number): boolean {
  if (recorded === String(recordedDraw)) return live === String(liveDraw);
  return (
    RADIXES.some((radix) => isSliceOfDigits(recorded, live, recordedDraw, liveDraw, radix)) ||
    (/^\d{3,}$/.test(recorded) &&
      RANGES.some(
        ({ from, size }) =>
          recorded === String(Math.floor(from + recordedDraw * size)) &&
          live === String(Math.floor(from + liveDraw * size)),
      ))
  );
}

/** `toString(36).slice(2, n)`, `.slice(-n)` and the like: the same piece of the digits of both, in either case of letters. */
function isSliceOfDigits(
  recorded: string,
  live: string,
  recordedDraw: number,
  liveDraw: number,
  radix: number,
): boolean {
  if (recorded.length < FRACTION_DIGITS_MIN || live.length < FRACTION_DIGITS_MIN) return false;
  const digits = recordedDraw.toString(radix).slice(2);
  const others = liveDraw.toString(radix).slice(2);
  const isUpper = recorded !== recorded.toLowerCase();
  const from = (isUpper ? digits.toUpperCase() : digits).indexOf(recorded);
  if (from < 0) return false;
  const written = isUpper ? others.toUpperCase() : others;
  if (from === 0) {
    // As many digits as asked for, or all there are where that is fewer.
    const asked = recorded.length === digits.length ? Math.max(recorded.length, live.length) : recorded.length;
    return live === written.slice(0, asked);
  }
  return from + recorded.length === digits.length
    ? live === written.slice(-recorded.length)
    : live === written.slice(from, from + recorded.length);
}

/** Decimals that programs round to. */
const DECIMALS: readonly number[] = [0, 1, 2, 3, 4, 6];
const ROUNDINGS: readonly ((value: number) => number)[] = [Math.round, Math.floor, Math.ceil];

/** Whether two texts are one form of two numbers: all digits, or rounded or cut to as many decimals. */
export function isNumberForm(recorded: string, live: string, recordedValue: number, liveValue: number): boolean {
  if (!(Math.abs(Number(recorded) - recordedValue) <= 1)) return false;
  const isForm = (form: (value: number) => string): boolean =>
    form(recordedValue) === recorded && form(liveValue) === live;
  return (
    isForm(String) ||
    DECIMALS.some(
      (decimals) =>
        isForm((value) => value.toFixed(decimals)) ||
        ROUNDINGS.some((round) => isForm((value) => String(round(value * 10 ** decimals) / 10 ** decimals))),
    )
  );
}
