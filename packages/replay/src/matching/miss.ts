/** Why a request is no recorded one. Likeness is used here only, and only to explain. */
import type { Asked, Candidate } from './candidate.ts';
import type { LeafDifference, Missed, MissReason, NearCandidate } from './types.ts';
import type { Unifier } from './unifier.ts';

/** Recorded requests that are compared to explain a miss. */
const LOOKED_AT_MAX = 100;
const NEAREST_MAX = 3;
const DIFFERENCES_MAX = 200;
/** A request that shares less than this with every recorded one is no change of any. */
const CHANGE_LIKENESS_MIN = 0.35;

interface Near extends NearCandidate {
  likeness: number;
}

/** The verdict on a request that fits none of the open ones. */
export function whyMissed(
  asked: Asked,
  scope: string,
  open: readonly Candidate[],
  all: readonly Candidate[],
  fits: (candidate: Candidate) => boolean,
  unifier: Unifier,
): Missed {
  const [expected] = open;
  const around = expected?.request.index ?? Number.POSITIVE_INFINITY;
  const near = closest(all, around).filter((candidate) => !open.includes(candidate));
  const later = near.filter((candidate) => !candidate.isConsumed);
  const fitting =
    later.find((candidate) => candidate.scope === scope && fits(candidate)) ??
    later.find((candidate) => candidate.scope !== scope && fits(candidate));
  const given =
    fitting ?? near.find((candidate) => candidate.isConsumed && candidate.scope === scope && fits(candidate));
  const explained = [...open, ...later.slice(0, LOOKED_AT_MAX)].map((candidate) => nearOf(candidate, asked, unifier));
  const ranked = explained.sort((a, b) => b.likeness - a.likeness);
  const first = [given, expected].filter((candidate) => candidate !== undefined);
  const chosen = [
    ...first.map((candidate) => nearOf(candidate, asked, unifier)),
    ...ranked.filter(({ index }) => !first.some(({ request }) => request.index === index)),
  ];
  return {
    kind: 'missed',
    reason: reasonOf(scope, expected, given, explained),
    ...(expected === undefined ? {} : { expected: expected.request.index }),
    nearest: chosen.slice(0, NEAREST_MAX).map(({ index, diff }) => ({ index, diff })),
  };
}

function reasonOf(
  scope: string,
  expected: Candidate | undefined,
  given: Candidate | undefined,
  explained: readonly Near[],
): MissReason {
  if (given !== undefined) {
    if (given.isConsumed) return 'extra';
    return given.scope === scope ? 'reordered' : 'moved_scope';
  }
  if (expected === undefined) return 'extra';
  const own = explained.find(({ index }) => index === expected.request.index);
  return (own?.likeness ?? 0) < CHANGE_LIKENESS_MIN ? 'extra' : 'changed';
}

/** The recorded requests around a place, nearest first. */
function closest(all: readonly Candidate[], around: number): Candidate[] {
  const distance = ({ request }: Candidate): number => Math.abs(request.index - Math.min(around, all.length));
  return [...all].sort((a, b) => distance(a) - distance(b)).slice(0, 2 * LOOKED_AT_MAX);
}

function nearOf(candidate: Candidate, asked: Asked, unifier: Unifier): Near {
  const diff = candidate.differences(asked, unifier);
  const near = {
    index: candidate.request.index,
    diff: diff.slice(0, DIFFERENCES_MAX),
    likeness: likenessOf(candidate, asked, diff),
  };
  candidate.forget();
  return near;
}

/** How much of two requests is shared, by characters of their differing leaves; another endpoint halves it. */
function likenessOf(candidate: Candidate, asked: Asked, differences: readonly LeafDifference[]): number {
  const isElsewhere = differences.some(({ path }) => path === 'method' || path === 'url.path');
  const [mine, theirs] = [candidate.request, asked.request];
  const whole = Math.max(mine.url.length + mine.body.length, theirs.url.length + theirs.body.length, 1);
  let changed = 0;
  for (const { recorded, live, isNoise } of differences) {
    if (!isNoise) changed += changedChars(recorded?.text ?? '', live?.text ?? '');
  }
  return Math.max(0, 1 - changed / whole) * (isElsewhere ? 0.5 : 1);
}

/** Characters between the shared beginning and the shared end of two texts. */
function changedChars(recorded: string, live: string): number {
  const most = Math.min(recorded.length, live.length);
  let head = 0;
  while (head < most && recorded[head] === live[head]) head += 1;
  let tail = 0;
  while (tail < most - head && recorded.at(-1 - tail) === live.at(-1 - tail)) tail += 1;
  return Math.max(recorded.length, live.length) - head - tail;
}
