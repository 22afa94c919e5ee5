/** Where records of this process stand now, when a sweep has rewritten their file since their place was noted. */

/** A stretch of a file and where it begins in the file that replaced it. */
export interface MovedRange {
  from: number;
  to: number;
  newFrom: number;
}

const REMOVED_BY_BOUND = 'RemovedByBoundError';
/** By path, one rewriting after the other. */
const rewritten = new Map<string, (readonly MovedRange[])[]>();

/** A file was replaced: what stays of it stands there now. */
export function noteMoved(path: string, ranges: readonly MovedRange[]): void {
  rewritten.set(path, [...(rewritten.get(path) ?? []), ranges]);
}

/** A file of this process is gone. */
export function noteRemoved(path: string): void {
  rewritten.set(path, [[]]);
}

/** What was to be read back went for a bound of the directory, and was counted there. */
export class RemovedByBoundError extends Error {
  override readonly name: string = REMOVED_BY_BOUND;
}

/** Whether that is why something could not be read back. By its name: the sender is built apart. */
export function wasRemovedByBound(error: unknown): boolean {
  return error instanceof Error && error.name === REMOVED_BY_BOUND;
}

/** The present place of what was written at an offset; undefined when a sweep has taken it out. */
export function presentOffset(path: string, offset: number, sizeBytes: number): number | undefined {
  let at = offset;
  for (const ranges of rewritten.get(path) ?? []) {
    const range = rangeOf(ranges, at);
    if (!range || at + sizeBytes > range.to) return undefined;
    at = range.newFrom + (at - range.from);
  }
  return at;
}

function rangeOf(ranges: readonly MovedRange[], offset: number): MovedRange | undefined {
  let low = 0;
  let high = ranges.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const range = ranges[middle];
    if (!range) return undefined;
    if (offset < range.from) high = middle - 1;
    else if (offset >= range.to) low = middle + 1;
    else return range;
  }
  return undefined;
}
