/** CPU time by whose code it is, from a sampling profile of the thread. */
import { ownerOf, passesOn } from './origin.ts';
import type { ProcessCost } from './plan.ts';

interface ProfileNode {
  id: number;
  callFrame: { functionName: string; url: string };
  children?: number[] | undefined;
}

interface Profile {
  nodes: ProfileNode[];
  samples?: number[] | undefined;
  timeDeltas?: number[] | undefined;
}

const INTERVAL_US = 500;
/** A profile grows with the program; so long is enough to know. */
const LONGEST_MS = 10 * 60_000;
const FUNCTIONS_SHOWN = 12;

/** Starts profiling; the result ends it. Undefined where the platform has no inspector. */
export function startProfile(ownDirs: readonly string[]): (() => ProcessCost['cpu']) | undefined {
  try {
    const { Session } = process.getBuiltinModule('node:inspector');
    const session = new Session();
    session.connect();
    session.post('Profiler.enable');
    session.post('Profiler.setSamplingInterval', { interval: INTERVAL_US });
    session.post('Profiler.start');
    let result: ProcessCost['cpu'];
    let ended = false;
    const end = (): ProcessCost['cpu'] => {
      if (ended) return result;
      ended = true;
      session.post('Profiler.stop', (error, answer) => {
        if (error === null) result = sharesOf(answer.profile, ownDirs);
      });
      session.disconnect();
      return result;
    };
    setTimeout(end, LONGEST_MS).unref();
    return end;
  } catch {
    return undefined;
  }
}

/** Waiting, and work of the virtual machine that nobody in particular asked for. */
const NOT_JAVASCRIPT: ReadonlySet<string> = new Set(['(idle)', '(program)', '(garbage collector)']);

type Share = 'ours' | 'program' | 'probe';

/** Sums the time of samples: a function of the platform or of a dependency is whose code called it. */
export function sharesOf(profile: Profile, ownDirs: readonly string[]): NonNullable<ProcessCost['cpu']> {
  const times = new Map<number, number>();
  for (const [i, id] of (profile.samples ?? []).entries()) {
    times.set(id, (times.get(id) ?? 0) + Math.max(0, profile.timeDeltas?.[i] ?? 0) / 1000);
  }
  const byId = new Map(profile.nodes.map((node) => [node.id, node]));
  const sums = { ours: 0, program: 0, probe: 0 };
  const functions = new Map<string, number>();
  const queue: { id: number; caller: { share: Share; name: string } }[] = profile.nodes
    .slice(0, 1)
    .map(({ id }) => ({ id, caller: { share: 'program' as const, name: '' } }));
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    const node = byId.get(next.id);
    if (!node) continue;
    const { functionName, url } = node.callFrame;
    const owner = ownerOf(url, ownDirs);
    const name = functionName === '' ? '(anonymous)' : functionName;
    const isOwner = owner === 'ours' || owner === 'program' || owner === 'probe';
    const self = isOwner ? { share: owner, name } : next.caller;
    // What the probe or a tap calls on is the work of who called them.
    const caller = owner === 'probe' || (owner === 'ours' && passesOn(functionName)) ? next.caller : self;
    if (!NOT_JAVASCRIPT.has(functionName)) {
      const ms = times.get(node.id) ?? 0;
      sums[self.share] += ms;
      if (self.share === 'ours') functions.set(self.name, (functions.get(self.name) ?? 0) + ms);
    }
    for (const id of node.children ?? []) queue.push({ id, caller });
  }
  const top = [...functions].sort((a, b) => b[1] - a[1]).slice(0, FUNCTIONS_SHOWN);
  return {
    totalMs: sums.ours + sums.program + sums.probe,
    oursMs: sums.ours,
    probeMs: sums.probe,
    functions: top.map(([name, ms]) => ({ name, ms })),
  };
}
