/** The first draw that was another: mostly well before the request that shows it. */
import type { Draw } from './types.ts';

/** Where two rows of draws part; undefined where they are equal, or one is not known. */
export function firstOtherDraw(
  recorded: readonly Draw[] | undefined,
  live: readonly Draw[] | undefined,
): { seq: number; message: string } | undefined {
  if (recorded === undefined || live === undefined) return undefined;
  const shared = Math.min(recorded.length, live.length);
  for (let i = 0; i < shared; i++) {
    const [mine, theirs] = [recorded[i] as Draw, live[i] as Draw];
    if (mine.source !== theirs.source) {
      return { seq: theirs.seq, message: `draw ${i + 1} was ${named(mine)} on record and is ${named(theirs)} now` };
    }
    if (placeOf(mine) !== placeOf(theirs)) {
      return {
        seq: theirs.seq,
        message: `draw ${i + 1}, ${mine.source}, was made at ${mine.at} on record and at ${theirs.at} now`,
      };
    }
  }
  if (recorded.length === live.length) return undefined;
  const [first, whose] = recorded.length > live.length ? [recorded[shared], 'on record only'] : [live[shared], 'new'];
  const message = `${live.length} values were drawn, on record ${recorded.length}; the first that is ${whose} is ${named(first as Draw)}`;
  return { seq: (first as Draw).seq, message };
}

function named({ source, at }: Draw): string {
  return at === undefined ? source : `${source} at ${at}`;
}

/** The file alone: lines move with every edit. */
function placeOf({ at }: Draw): string | undefined {
  return at?.replace(/(?::\d+){1,2}$/, '');
}
