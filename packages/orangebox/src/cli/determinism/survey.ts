/** Which sources of outside values reach what a recorded program asks for. */
import type { Receipt } from '@orangebox/replay';
import { type FoundRun, readRun } from '@orangebox/replay/process';
import { OrangeboxError } from '@orangebox/schema';
import type { CommandContext } from '../context.ts';
import { type ReplayRequest, replayFound } from '../replay-run/replay-found.ts';
import { narrow } from './narrow.ts';
import { type DrawPlace, placesOf } from './places.ts';

/** Where a value first came to. */
export interface Reached {
  /** Number of the event that was another: a request, a child process, a timer. */
  step: number;
  /** What was seen, in a sentence. */
  summary: string;
  /** Leaves of the request that were others, at most a few. */
  paths: string[];
}

/** A source that reaches something; several where they do so only together. */
export interface ReachingSource {
  places: Pick<DrawPlace, 'source' | 'at'>[];
  reached: Reached;
}

/** What was found. */
export interface Survey {
  run: string;
  /** The replay with all values as recorded; where it fails nothing more is tried. */
  baseline: Receipt;
  /** Places that were tried. */
  places: number;
  replays: number;
  sources: ReachingSource[];
  /** The program depends on the order in which it is given its environment. */
  environmentOrder?: Reached;
}

const PATHS_MAX = 3;

/** Replays the run with other values, of all places, then of fewer, until those that reach a request are known. */
export async function survey(
  context: CommandContext,
  request: Omit<ReplayRequest, 'stdio' | 'unpinned'> & { found: FoundRun; jobs: number },
): Promise<Survey> {
  let replays = 0;
  const replay = (how: Partial<ReplayRequest>): Promise<Receipt> => {
    replays++;
    return replayFound(context, { ...request, stdio: 'ignore', ...how });
  };
  const reached = async (how: Partial<ReplayRequest>): Promise<Reached | undefined> => {
    try {
      return reachedBy(await replay(how));
    } catch (error) {
      // A program that ends with the recorded values, and not with others, depends on them.
      if (!(error instanceof OrangeboxError && error.code === 'OBX_REPLAY_TIMEOUT')) throw error;
      return { step: 0, summary: error.message, paths: [] };
    }
  };
  const baseline = await replay({});
  const places = placesOf(request.found.threads.map(({ files }) => readRun(files)));
  const about = { run: request.found.runId, baseline, places: places.length };
  if (!wentAsRecorded(baseline)) return { ...about, replays, sources: [] };
  const environmentOrder = await reached({ environmentOrder: 'reversed' });
  const found = await narrow(
    places,
    (some) => reached({ unpinned: { places: some.map(({ key }) => key), isUnified: false } }),
    request.jobs,
  );
  return {
    ...about,
    replays,
    sources: found.map(({ items, effect }) => ({
      places: items.map(({ source, at }) => ({ source, at })),
      reached: effect,
    })),
    ...(environmentOrder ? { environmentOrder } : {}),
  };
}

/** Whether a run asked for what is on record; what it printed may be another. */
export function wentAsRecorded({ verdict }: Receipt): boolean {
  return verdict === 'replayed' || verdict === 'output_differs';
}

function reachedBy(receipt: Receipt): Reached | undefined {
  if (wentAsRecorded(receipt)) return undefined;
  const { divergence } = receipt;
  if (!divergence) return { step: 0, summary: receipt.findings[0] ?? receipt.verdict, paths: [] };
  const { step, summary, differences } = divergence;
  const paths = differences.filter(({ isNoise }) => !isNoise).map(({ path }) => path);
  return { step, summary, paths: paths.slice(0, PATHS_MAX) };
}
