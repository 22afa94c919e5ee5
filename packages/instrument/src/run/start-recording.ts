/** Records a run: what comes to the program from outside, in one order, so that it can be run again. */
import { randomBytes } from 'node:crypto';
import { constants } from 'node:os';
import { resolve } from 'node:path';
import { isMainThread, getEnvironmentData, setEnvironmentData, threadId } from 'node:worker_threads';
import { DEFAULT_DIRECTORY } from '@orangebox/schema';
import type { RunKit } from '../run-kit.ts';
import { CallSites } from './call-site.ts';
import { signCommand } from './command-signature.ts';
import { countConnections } from './connections.ts';
import { DrawLog } from './draw-log.ts';
import { watchFiles } from './files/watch-files.ts';
import { hookPlatform } from './hook-platform.ts';
import { watchOutput } from './output.ts';
import type { ThreadPort, TimerPort, Undo } from './ports.ts';
import { whenProcessEnds } from './process-end.ts';
import { undoAll } from './replace.ts';
import { RecordedChildren } from './recorded-children.ts';
import { RecordedTools } from './recorded-tools.ts';
import { inputKind, RecordedInput } from './recorded-input.ts';
import { type RunFacts, runFacts } from './run-facts.ts';
import { WorkLog } from './work-log.ts';

/** Where workers find the id of their run. */
const RUN_ID_KEY = 'orangebox.run';

/** What a recording is told besides. */
export interface RecordingOptions {
  kit: RunKit;
  /** Directories of Orangebox's own files. */
  ownDirectories: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  startUnixNano: bigint;
}

/** Starts the recording of this thread; the result ends it. */
export function startRecording({ kit, ownDirectories, env, startUnixNano }: RecordingOptions): Undo {
  const { config } = kit;
  const sites = new CallSites(ownDirectories, process.cwd());
  const channels = new Map<string, number>();
  const notReplayable = (what: string, count = 1): void => void channels.set(what, (channels.get(what) ?? 0) + count);
  const tools = new RecordedTools({
    nextSeq: () => kit.nextSeq(),
    record: (record) => kit.record(record),
    isClaimed: (socket) => kit.isClaimed(socket),
    notReplayable,
  });
  kit.useTools(tools);
  /** The next place, for something that a tool may have done. */
  const nextSeqOf = (kind: 'draws' | 'children'): number => {
    const seq = kit.nextSeq();
    tools.note(kind, seq);
    return seq;
  };
  const work = new WorkLog({ nextDelivery: () => kit.nextDelivery(), record: (record) => kit.record(record) });
  const draws = new DrawLog({ nextSeq: () => nextSeqOf('draws'), record: (record) => kit.record(record) });
  const runId = runIdOf(kit);
  kit.record({
    type: 'runStart',
    runId,
    ...(config.runParent === undefined ? {} : { parentRunId: config.runParent }),
    ...signed(runFacts(env, config.runEnvironment, config.runDirectory), runId, config.runDirectory),
    ...(isMainThread ? { stdin: inputKind() } : {}),
    startUnixNano: String(startUnixNano),
  });
  const outputs = isMainThread
    ? { stdout: watchOutput(process.stdout), stderr: watchOutput(process.stderr) }
    : undefined;
  // What the program puts in their place is for what it writes itself.
  const writes = outputs && {
    stdout: process.stdout.write.bind(process.stdout),
    stderr: process.stderr.write.bind(process.stderr),
  };
  const connections = countConnections(kit.isClaimed, kit.isOwn, {
    touched: (socket, target, how) => tools.touched(socket, target, how),
    isGiven: (socket) => tools.isGiven(socket),
    isUnreached: (target) => kit.isUnreached(target),
    notReplayable: (what) => tools.notReplayable(what),
  });
  const files = watchFiles(kit, runId, notReplayable);
  const children = new RecordedChildren({
    nextSeq: () => nextSeqOf('children'),
    nextDelivery: () => kit.nextDelivery(),
    record: (record) => kit.record(record),
    write: (name, bytes) => void writes?.[name](bytes),
    notReplayable,
    ...(files ? { starting: () => files.look(), ended: (record) => files.look(record) } : {}),
  });
  // A worker's comes by a message of the thread that made it.
  const input = isMainThread
    ? new RecordedInput({
        nextSeq: () => kit.nextSeq(),
        nextDelivery: () => kit.nextDelivery(),
        record: (record) => kit.record(record),
        notReplayable,
        coming: () => draws.flush(),
      })
    : undefined;
  const undoHooks = hookPlatform({
    draws,
    timers: recordedTimers(kit, draws, (timerId) => tools.note('timers', timerId)),
    children,
    threads: recordedThreads(kit, draws),
    work,
    input,
    sites,
    runId,
  });
  let hasEnded = false;
  const end = (exitCode: number, signal?: NodeJS.Signals): void => {
    if (hasEnded) return;
    hasEnded = true;
    try {
      draws.flush();
      work.flush();
      children.end();
      input?.end();
      files?.look();
      const others = [...channels].map(([what, count]) => ({ what, count }));
      for (const { what, count } of [...connections.list(), ...others])
        kit.record({ type: 'notReplayable', what, count });
      const nothing = { sha256: '', sizeBytes: 0 };
      kit.record({
        type: 'runEnd',
        seq: kit.nextSeq(),
        exitCode,
        ...(signal === undefined ? {} : { signal }),
        stdout: outputs?.stdout.digest() ?? nothing,
        stderr: outputs?.stderr.digest() ?? nothing,
      });
      kit.flush();
    } catch (error) {
      kit.fault('ending the run', error);
    }
  };
  const undoEnd = whenProcessEnds((exitCode) => end(exitCode));
  // What comes in the moment until it ends has no place any more: the process ends where the signal came.
  if (isMainThread) kit.whenDying((signal) => end(128 + constants.signals[signal], signal));
  return undoAll([
    ...(outputs ? [outputs.stdout.undo, outputs.stderr.undo] : []),
    connections.undo,
    undoHooks,
    undoEnd,
  ]);
}

/** With the signature of the command, by which a replay knows that it may be run again here. */
function signed(facts: RunFacts, runId: string, directory: string = DEFAULT_DIRECTORY): RunFacts {
  const cwd = process.cwd();
  const commandHash = signCommand(resolve(cwd, directory), { ...facts, runId, cwd });
  return commandHash === undefined ? facts : { ...facts, commandHash };
}

/** One id for all threads of a process; a child process has its own, and names its parent's. */
function runIdOf({ config }: RunKit): string {
  const inherited: unknown = threadId === 0 ? undefined : getEnvironmentData(RUN_ID_KEY);
  const given = config.runParent === undefined ? config.runId : undefined;
  const runId = typeof inherited === 'string' ? inherited : (given ?? `run-${randomBytes(6).toString('hex')}`);
  setEnvironmentData(RUN_ID_KEY, runId);
  return runId;
}

/** What comes of other threads, each noted. */
function recordedThreads(kit: RunKit, draws: DrawLog): ThreadPort {
  return {
    came(kind, worker, deliver) {
      draws.flush();
      const from = worker === undefined ? {} : { worker };
      kit.record({ type: 'threadEvent', seq: kit.nextDelivery(), kind, ...from });
      deliver();
    },
  };
}

/** The platform's timers, each firing noted. */
function recordedTimers(kit: RunKit, draws: DrawLog, note: (timerId: number) => void): TimerPort {
  let made = 0;
  return {
    make({ kind, delayMs, at, callback, real }) {
      const timerId = made++;
      note(timerId);
      return real(function (this: unknown) {
        draws.flush();
        kit.record({ type: 'timerFired', seq: kit.nextDelivery(), timerId, kind, delayMs, at });
        Reflect.apply(callback, this, []);
      });
    },
    clear() {
      // The platform's own matter.
    },
  };
}
