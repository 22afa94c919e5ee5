/** Ids that are made character by character, each by a draw of its own. */

const DIGITS = '0123456789';
const LOWER = 'abcdefghijklmnopqrstuvwxyz';
const UPPER = LOWER.toUpperCase();
const ALPHABETS: readonly string[] = [
  DIGITS + UPPER + LOWER,
  DIGITS + LOWER + UPPER,
  LOWER + UPPER + DIGITS,
  UPPER + LOWER + DIGITS,
  LOWER + DIGITS,
  DIGITS + LOWER,
  UPPER + DIGITS,
  `${DIGITS}abcdef`,
];
/** A shorter id could be any row of draws. */
const BY_FRACTION_MIN = 6;
/** With an alphabet that is not known it takes more. */
const BY_BYTE_MIN = 16;

/** Whether both texts are characters of one alphabet, picked by the same row of numbers from 0 to 1. */
export function isCharByFraction(
  recorded: string,
  live: string,
  draws: readonly { recorded: number; live: number }[],
): boolean {
  if (recorded.length !== live.length || recorded.length < BY_FRACTION_MIN) return false;
  const picked = (alphabet: string, draw: number): string => alphabet.charAt(Math.floor(draw * alphabet.length));
  return ALPHABETS.some((alphabet) => {
    for (let from = draws.length - recorded.length; from >= 0; from--) {
      let at = 0;
      while (at < recorded.length) {
        const draw = draws[from + at];
        if (!draw || recorded[at] !== picked(alphabet, draw.recorded) || live[at] !== picked(alphabet, draw.live))
          break;
        at += 1;
      }
      if (at === recorded.length) return true;
    }
    return false;
  });
}

/**
 * Whether both texts are characters of one alphabet of 64, picked by the same bytes. Which alphabet does not matter: one
 * character for one number, and one number for one character, in both texts together.
 */
export function isCharByByte(
  recorded: string,
  live: string,
  recordedBytes: Uint8Array,
  liveBytes: Uint8Array,
): boolean {
  if (recorded.length !== live.length || recorded.length < BY_BYTE_MIN) return false;
  const last = Math.min(recordedBytes.length, liveBytes.length) - recorded.length;
  for (let from = 0; from <= last; from++) {
    if (isOneToOne(recorded + live, (at) => byteAt(at, from))) return true;
  }
  return false;

  function byteAt(at: number, from: number): number {
    const isLive = at >= recorded.length;
    const byte = isLive ? liveBytes[from + at - recorded.length] : recordedBytes[from + at];
    return (byte ?? 0) & 63;
  }
}

function isOneToOne(text: string, numberAt: (at: number) => number): boolean {
  const characters = new Map<number, string>();
  const numbers = new Map<string, number>();
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    const number = numberAt(at);
    if ((characters.get(number) ?? character) !== character || (numbers.get(character) ?? number) !== number)
      return false;
    characters.set(number, character);
    numbers.set(character, number);
  }
  return true;
}
