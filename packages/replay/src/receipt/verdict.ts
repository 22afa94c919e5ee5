/** What a replay comes to, and the exit code of it. */
import type { ComparedValue } from '../divergence/types.ts';
import type { ReceiptFacts, ReceiptVerdict } from './types.ts';

/** Exit code of the command by verdict; `docs/run-replay.md` and `docs/cli.md` have the same table. */
export const VERDICT_EXIT_CODE: Readonly<Record<ReceiptVerdict, number>> = {
  replayed: 0,
  damaged: 4,
  diverged: 10,
  output_differs: 11,
  incomplete: 12,
  nothing_served: 13,
  wrong_program: 14,
  wrong_runtime: 15,
  not_sealed: 16,
};

/** A verdict that holds, and why. */
export interface Finding {
  verdict: Exclude<ReceiptVerdict, 'replayed'>;
  message: string;
}

/**
 * Everything that is wrong, weightiest first: what makes the replay prove nothing stands before what it showed.
 */
export function findingsOf(facts: ReceiptFacts): Finding[] {
  const found: Finding[] = [];
  const add = (verdict: Finding['verdict'], isSo: boolean, message: () => string): void => {
    if (isSo) found.push({ verdict, message: message() });
  };
  const served = servedCount(facts);
  const { processes, code, divergence } = facts;
  add('damaged', facts.run.isDamaged === true, () => 'the recording is not whole');
  add('not_sealed', facts.liveConnections > 0, () => `${counted(facts.liveConnections, 'connection')} really went out`);
  add(
    'not_sealed',
    processes.started > 0,
    () => `${counted(processes.started, 'process', 'processes')} really started`,
  );
  add(
    'wrong_program',
    isOther(code.entry) && isOther(code.digest),
    () => `the program was ${code.entry.recorded ?? 'unknown'} on record and is ${code.entry.live ?? 'unknown'}`,
  );
  const runtime = facts.versions.find(({ name }) => name === 'node');
  add(
    'wrong_runtime',
    runtime !== undefined && isOther(runtime),
    () => `Node.js was ${runtime?.recorded ?? 'unknown'} on record and is ${runtime?.live ?? 'unknown'}`,
  );
  add('nothing_served', !facts.isInstrumented, () => 'the program ran without Orangebox: nothing was replayed');
  add('nothing_served', facts.isInstrumented && served + processes.served === 0 && divergence === undefined, () =>
    nothingServed(facts),
  );
  const [child] = facts.childRuns ?? [];
  add(
    'nothing_served',
    child !== undefined && facts.recordedRequests === 0 && divergence === undefined,
    () =>
      `all requests were made by a child process, ${child?.command}, which was served and not replayed: replay ${child?.id}`,
  );
  add('diverged', divergence !== undefined, () => `step ${divergence?.step}: ${divergence?.summary}`);
  add(
    'diverged',
    facts.extra > 0 && divergence === undefined,
    () => `${counted(facts.extra, 'request')} not on record`,
  );
  add('incomplete', facts.missing > 0, () => `${counted(facts.missing, 'recorded request')} never asked for`);
  const others = facts.outcome.filter(isOther).map(({ name }) => name);
  add('output_differs', others.length > 0, () => `not as recorded: ${others.join(', ')}`);
  return found;
}

/** Requests that were served. */
export function servedCount({ rungs }: ReceiptFacts): number {
  return rungs.exact + rungs.canonical + rungs.unified + rungs.rule;
}

/** A number and the word for it. */
export function counted(count: number, one: string, many: string = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

function isOther({ recorded, live }: ComparedValue): boolean {
  return recorded !== live;
}

function nothingServed({ recordedRequests }: ReceiptFacts): string {
  if (recordedRequests === 0) return 'the recording holds no request and no process to serve';
  return `none of ${counted(recordedRequests, 'recorded request')} was asked for`;
}
