/**
 * What `orangebox audit` loads into the program before Orangebox: it watches what Orangebox does, and then loads it. Built
 * as one file, `audit-probe.cjs`. It tells what it saw and changes nothing that the program gets.
 */
import { createRequire } from 'node:module';
import { startProfile } from './cost.ts';
import { openEventLog, type Tell } from './event-log.ts';
import { originTeller } from './origin.ts';
import { type AuditPlan, readPlan } from './plan.ts';
import { changesOf, type Shape, takeListeners, takeShape, touchPlatform } from './shape.ts';
import { watch } from './watch.ts';
import { watchFiles } from './watch-files.ts';
import { watchNetwork } from './watch-network.ts';
import { watchPlatform } from './watch-platform.ts';

/** As much of Orangebox' runtime as is asked. */
interface Runtime {
  recorded: number;
  scopes: { current(): { suppressed?: boolean } };
}

const ADDING = ['on', 'addListener', 'once', 'prependListener', 'prependOnceListener'];
/** Loading them is our cost where our code asks for them. */
const OURS_TO_LOAD = /^@(?:orangebox|opentelemetry|bufbuild)\//;

function runtime(): Runtime | undefined {
  return (globalThis as { [name: symbol]: unknown })[Symbol.for('orangebox.runtime.1')] as Runtime | undefined;
}

function start(plan: AuditPlan): void {
  const { isMainThread, threadId } = process.getBuiltinModule('node:worker_threads');
  const isSeeds = process.argv[1]?.endsWith('audit-seeds.cjs') === true;
  const tell = openEventLog(plan.eventsDir, `${process.pid}-${threadId}`);
  tell({
    t: 'start',
    pid: process.pid,
    threadId,
    node: process.versions.node,
    argv: isMainThread ? process.argv.slice(1, 4) : [],
    seeds: isSeeds,
  });
  const endProfile = startProfile(plan.ownDirs);
  const origin = originTeller(plan.ownDirs);
  const isOurs = (): boolean => {
    const found = origin();
    return found === 'ours' || (found === 'deep' && runtime()?.scopes.current().suppressed === true);
  };
  const files = { calls: 0, ms: 0 };
  const timers = { count: 0 };
  const asker = { ours: isOurs, tell, receiverPort: plan.receiverPort };
  watchFiles(() => (isOurs() ? 'ours' : 'program'), tell, files);
  watchNetwork(asker);
  watchPlatform(asker, plan.ownDirs, timers);

  const now = performance.now.bind(performance);
  const load = { ms: 0, depth: 0 };
  const noteChanges = (before: Shape, when: string): void => {
    for (const name of changesOf(before, takeShape())) tell({ t: 'patch', name, when });
  };
  watchLoads(isOurs, load, now, noteChanges);
  const finish = (): void => {
    if (isSeeds) noteEnd(first, listeners, environment, tell, noteChanges);
    const cpu = endProfile?.();
    const { user, system } = process.cpuUsage();
    tell({
      t: 'cost',
      cost: {
        registerMs,
        loadMs: load.ms,
        fileCalls: files.calls,
        fileMs: files.ms,
        timers: timers.count,
        cpuMs: (user + system) / 1000,
        ...(cpu === undefined ? {} : { cpu }),
        recorded: runtime()?.recorded ?? 0,
      },
    });
  };
  watchListeners(isOurs, tell, finish);
  if (isSeeds) touchPlatform();
  process.getBuiltinModule('node:module').syncBuiltinESMExports();

  process.on('exit', finish);
  const environment = { ...process.env };
  const listeners = takeListeners();
  const first = takeShape();
  const startMs = now();
  createRequire(__filename)(plan.register);
  const registerMs = now() - startMs;
  noteChanges(first, 'when it was loaded');
}

/** Times what our code loads; the recorder's load is also looked at for what it replaced. */
function watchLoads(
  isOurs: () => boolean,
  load: { ms: number; depth: number },
  now: () => number,
  noteChanges: (before: Shape, when: string) => void,
): void {
  watch(process.getBuiltinModule('node:module'), '_load', (args, call) => {
    const request = args[0];
    if (typeof request !== 'string' || load.depth > 0 || !OURS_TO_LOAD.test(request) || !isOurs()) return call();
    const before = request === '@orangebox/recorder' ? takeShape() : undefined;
    const startMs = now();
    load.depth += 1;
    try {
      return call();
    } finally {
      load.depth -= 1;
      load.ms += now() - startMs;
      if (before) noteChanges(before, 'when the recorder was loaded');
    }
  });
}

/** Listeners of ours on the process; `last` is kept behind them, so that it sees what they do. */
function watchListeners(isOurs: () => boolean, tell: Tell, last: () => void): void {
  const emitter = process.getBuiltinModule('node:events').prototype;
  const remove = emitter.removeListener;
  const add = emitter.on;
  for (const name of ADDING) {
    watch(emitter, name, (args, call, self) => {
      if (self !== process || args[1] === last || !isOurs()) return call();
      const event = String(args[0]);
      const result = call();
      tell({ t: 'listener', event, count: 1 });
      if (event === 'exit') {
        Reflect.apply(remove, process, ['exit', last]);
        Reflect.apply(add, process, ['exit', last]);
      }
      return result;
    });
  }
}

/** In the seeds' process nobody but us changes anything. */
function noteEnd(
  first: Shape,
  listeners: ReadonlyMap<string | symbol, number>,
  environment: NodeJS.ProcessEnv,
  tell: Tell,
  noteChanges: (before: Shape, when: string) => void,
): void {
  noteChanges(first, 'by the end');
  for (const [event, count] of takeListeners()) {
    const added = count - (listeners.get(event) ?? 0);
    if (added > 0) tell({ t: 'listener', event: String(event), count: added });
  }
  for (const name of new Set([...Object.keys(environment), ...Object.keys(process.env)])) {
    if (environment[name] !== process.env[name]) tell({ t: 'env', name });
  }
}

const plan = readPlan();
if (plan) start(plan);
