/** Replays one recorded run in a process of its own and makes its receipt. */
import { spawn, type StdioOptions } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { makeReceipt, type MatchRule, type Receipt } from '@orangebox/replay';
import {
  childRunsOf,
  type FoundRun,
  parseReports,
  readRun,
  runDigest,
  type UnpinnedPlan,
} from '@orangebox/replay/process';
import { OrangeboxError } from '@orangebox/schema';
import { passSignals } from '../commands/run.ts';
import type { CommandContext } from '../context.ts';
import { receiptFacts } from './receipt-facts.ts';
import { removeTree } from './remove-tree.ts';
import { makeReplayPlace, type PlaceOptions } from './replay-place.ts';
import { replayEnvironment } from './replay-environment.ts';

/** What is replayed, and how. */
export interface ReplayRequest extends PlaceOptions {
  found: FoundRun;
  /** The directory of recordings it was found in. */
  directory: string;
  command: readonly string[];
  rules: readonly MatchRule[];
  /** Outside values that are not those on record; without it all are as they were. */
  unpinned?: UnpinnedPlan;
  /** How many times faster than recorded answers come; without it at once. */
  speed?: number;
  /** The environment's variables in the opposite order; without it as they are. */
  environmentOrder?: 'reversed';
  stdio: StdioOptions;
  /** Ends a program that takes longer, in milliseconds; without it nothing does. */
  timeoutMs?: number;
}

/** The program could not be started; the cause is the system's error. */
export class CannotStart extends Error {}

/**
 * Runs the program against the recording.
 *
 * @throws CannotStart; OrangeboxError `OBX_REPLAY_TIMEOUT`, `OBX_RUN_*` and those of segments
 */
export async function replayFound(context: CommandContext, request: ReplayRequest): Promise<Receipt> {
  const { found, command, rules, unpinned, speed, inPlace, keep, trustFiles } = request;
  const { cwd } = context;
  const directory = resolve(cwd, request.directory);
  const scratch = realpathSync(mkdtempSync(join(tmpdir(), 'orangebox-replay-')));
  const plan = join(scratch, 'plan.json');
  const report = join(scratch, 'report');
  let isKept = false;
  const removed = (): boolean => (isKept ? [plan, report] : [scratch]).map(removeTree).every(Boolean);
  try {
    const recorded = found.threads.map(({ files }) => readRun(files));
    const run = recorded.find(({ start }) => start.threadId === 0) ?? recorded[0];
    const place = makeReplayPlace({
      cwd,
      recordings: directory,
      run,
      threads: recorded,
      command,
      scratch,
      ...(inPlace === true ? { inPlace } : {}),
      ...(trustFiles === true ? { trustFiles } : {}),
    });
    isKept = keep === true && place.facts.isCopy;
    const threads = found.threads.map(({ threadId, files }) => ({
      threadId,
      files: files.map((f) => resolve(cwd, f)),
    }));
    writeFileSync(
      plan,
      JSON.stringify({ runId: found.runId, threads, report, rules, unpinned, speed, ...place.plan }),
      {
        mode: 0o600,
      },
    );
    const env = replayEnvironment(context.env, { found, plan, directory, preload: preloadPath() });
    const inCopy = place.facts.isCopy ? { ...env, PWD: place.cwd } : env;
    const live = request.environmentOrder === 'reversed' ? reversed(inCopy) : inCopy;
    await ended(place.command, place.cwd, request, live);
    const reports = parseReports(readReport(report));
    const failure = reports.find((one) => one.failure)?.failure;
    if (failure) throw new OrangeboxError(isCoded(failure.code) ? failure.code : 'OBX_RUN_UNREADABLE', failure.message);
    const facts = receiptFacts({
      found,
      command,
      reports,
      recorded,
      digest: runDigest(found),
      isUnpinned: unpinned !== undefined,
      // Each look reads of all runs here.
      childRuns: recorded.some(({ children }) => children.length > 0) ? childRunsOf(found, directory) : [],
      place: { ...place, isKept },
    });
    const { files = place.facts } = facts;
    const left = removed() ? [] : [`the replay's own directory could not be removed: ${scratch}`];
    return makeReceipt({ ...facts, files: { ...files, notes: [...files.notes, ...left] } });
  } finally {
    removed();
  }
}

async function ended(
  [program = '', ...args]: readonly string[],
  cwd: string,
  { stdio, timeoutMs }: ReplayRequest,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const child = spawn(program, args, { stdio, env, cwd });
  const stop = passSignals((signal) => void child.kill(signal), process.stdin.isTTY === true);
  let isLate = false;
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(() => {
          isLate = true;
          child.kill('SIGKILL');
        }, timeoutMs);
  try {
    await new Promise<void>((done, failed) => {
      child.once('error', (cause) => failed(new CannotStart(program, { cause })));
      child.once('exit', () => done());
    });
  } finally {
    clearTimeout(timer);
    stop();
  }
  if (isLate) {
    throw new OrangeboxError('OBX_REPLAY_TIMEOUT', `the program had not ended after ${(timeoutMs ?? 0) / 1000} s`, {
      hint: 'give it longer with --timeout',
    });
  }
}

function reversed(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).reverse());
}

function isCoded(code: string): code is `OBX_${string}` {
  return /^OBX_[A-Z0-9_]+$/.test(code);
}

/** The preload of a replay: a file of this package, whatever the program's directory has. */
function preloadPath(): string {
  return createRequire(import.meta.url).resolve('orangebox/replay-register');
}

/** Nothing where the program was never under the preload. */
function readReport(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
