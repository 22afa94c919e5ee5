/** `orangebox run -- COMMAND…`: one command, recorded. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { constants } from 'node:os';
import { DEFAULT_DIRECTORY, OrangeboxError } from '@orangebox/schema';
import type { CommandContext } from '../context.ts';
import { errnoOf } from '../exit-codes.ts';
import { locate } from '../locate.ts';
import { makeReportFile, type RunReport, saveLastRun } from '../run-report.ts';
import { escapeLine } from '../text/escape.ts';
import { plural } from '../text/format.ts';
import { registerPath } from './path.ts';

/** Signals that are passed on. The terminal itself sends SIGINT and SIGQUIT to the child; passing them on would double them. */
const FORWARDED: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGCONT'];
const FROM_KEYBOARD: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT'];

/** Options of `run`. */
export interface RunOptions {
  /** Everything that is needed to run the whole program again is recorded. */
  replayable?: boolean;
}

/** Runs the command with the preload and ends as it ended: same exit code, or same signal. */
export async function run(
  context: CommandContext,
  command: readonly string[],
  options: RunOptions = {},
): Promise<number> {
  const [program, ...args] = command;
  if (program === undefined)
    throw new OrangeboxError('OBX_CLI_USAGE', 'no command to run', { hint: 'orangebox run -- node app.js' });
  const { terminal, env } = context;
  const report = makeReportFile();
  const runId = options.replayable === true ? newRunId() : undefined;
  try {
    const child = spawn(program, args, {
      stdio: 'inherit',
      env: {
        ...env.all,
        NODE_OPTIONS: nodeOptions(env.nodeOptions, registerPath()),
        ORANGEBOX_RUN_REPORT: report.path,
        ...(context.dir === undefined ? {} : { ORANGEBOX_DIR: context.dir }),
        ...(runId === undefined ? {} : { ORANGEBOX_MODE: 'run', ORANGEBOX_RUN_ID: runId }),
      },
    });
    const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    const stop = passSignals((signal) => void child.kill(signal), process.stdin.isTTY === true);
    child.once('spawn', () => {
      if (terminal.errorInteractive)
        note(context, `recording to ${escapeLine(context.dir ?? env.dir ?? DEFAULT_DIRECTORY)}`);
    });
    const { code, signal } = await ended.finally(stop);
    const result = report.read();
    if (terminal.errorInteractive) note(context, endLine(result));
    if (result !== undefined) saveLastRun(context, result);
    if (runId !== undefined) await tellRun(context, runId, command);
    if (signal !== null) {
      // The signal may end this process before it comes to the end of this function.
      report.remove();
      return dieOf(signal);
    }
    return code ?? 1;
  } catch (error) {
    return cannotRun(context, program, error, 'orangebox run -- node app.js');
  } finally {
    report.remove();
  }
}

function newRunId(): string {
  return `run-${randomBytes(6).toString('hex')}`;
}

/** Says how to replay the run, and what of it no replay can give again. */
async function tellRun(context: CommandContext, runId: string, command: readonly string[]): Promise<void> {
  const { childRunsOf, commandOf, findRun, readRun } = await import('@orangebox/replay/process');
  const { dir, basis } = locate(context);
  let isWhole = true;
  try {
    const found = findRun(dir, runId);
    for (const { files, threadId } of found.threads) {
      const run = readRun(files);
      if (threadId === 0) isWhole = run.end !== undefined;
      for (const { what, count } of run.notReplayable) {
        note(context, `not replayable: ${escapeLine(notReplayable(what, count))}`);
      }
    }
    for (const child of childRunsOf(found, dir)) {
      note(
        context,
        `${escapeLine(commandOf(child))} is a run of its own, ${child.runId}: record it by itself to replay it`,
      );
    }
  } catch (error) {
    if (!(error instanceof OrangeboxError)) throw error;
    note(context, `the run cannot be replayed: ${error.message}`);
    return;
  }
  if (!isWhole) {
    note(context, `${runId} did not end in order (a signal, a crash): a replay of it says that it is damaged`);
    return;
  }
  const place = basis === 'found' || basis === 'default' ? '' : ` --dir ${escapeLine(dir)}`;
  note(context, `recorded ${runId}: npx orangebox replay ${runId}${place} -- ${command.map(escapeLine).join(' ')}`);
}

/** What a replay cannot give, and how often it was: `3 connections to db:5432`. */
export function notReplayable(what: string, count: number): string {
  const times = count.toLocaleString('en-US');
  const [noun = '', ...rest] = what.split(' ');
  if (noun === 'connection') return `${times} ${noun}${count === 1 ? '' : 's'} ${rest.join(' ')}`;
  return count === 1 ? what : `${times} × ${what}`;
}

/** The existing options with the preload behind them. A path with blanks is quoted as node reads it. */
export function nodeOptions(existing: string | undefined, path: string): string {
  const added = `--require ${quotedPath(path)}`;
  if (existing === undefined) return added;
  return existing.includes(added) ? existing : `${existing} ${added}`;
}

/** A path as Node.js reads it in its options. */
export function quotedPath(path: string): string {
  return /[\s"\\]/.test(path) ? `"${path.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"` : path;
}

/** Hands signals on to a child; the result stops it. */
export function passSignals(send: (signal: NodeJS.Signals) => void, onTerminal: boolean): () => void {
  const undo: (() => void)[] = [];
  for (const signal of [...FORWARDED, ...FROM_KEYBOARD]) {
    const passes = !onTerminal || !FROM_KEYBOARD.includes(signal);
    const listener = (): void => {
      if (passes) send(signal);
    };
    process.on(signal, listener);
    undo.push(() => process.off(signal, listener));
  }
  return () => {
    for (const step of undo) step();
  };
}

function note(context: CommandContext, text: string): void {
  context.terminal.note(`${context.terminal.errorColors.yellow('orangebox')} ${text}`);
}

function endLine(report: RunReport | undefined): string {
  if (report === undefined) return 'the command ended without a word on what it recorded; see: npx orangebox';
  if (report.recorded > 0) return `${plural(report.recorded, 'request')} recorded: npx orangebox ls`;
  const seen = report.hosts.slice(0, 3).map(escapeLine).join(', ');
  if (report.hosts.length > 0) return `no LLM call was recognised (hosts seen: ${seen}); npx orangebox says what to do`;
  return 'no LLM call was seen';
}

/** Ends this process as the child ended, so that a shell or supervisor sees the same. */
function dieOf(signal: NodeJS.Signals): number {
  process.kill(process.pid, signal);
  // Where the signal is ignored or late, the shell's convention says the same.
  return 128 + constants.signals[signal];
}

/** Whether a command could not be started for a reason that is the command's own. */
export function isNotRunnable(error: unknown): boolean {
  const code = errnoOf(error);
  const isSpawn = error instanceof Error && 'syscall' in error && String(error.syscall).startsWith('spawn');
  return isSpawn && (code === 'ENOENT' || code === 'EACCES');
}

/** As a shell does: 127 when the command is not there, 126 when it may not be run. */
export function cannotRun(context: CommandContext, program: string, error: unknown, hint: string): number {
  if (!isNotRunnable(error)) throw error;
  const code = errnoOf(error);
  const why = code === 'ENOENT' ? 'is not there' : 'may not be run';
  context.terminal.note(`${context.terminal.errorColors.red('orangebox:')} ${escapeLine(program)} ${why}`);
  context.terminal.note(`  ${context.terminal.errorColors.dim('hint:')} ${hint}`);
  return code === 'ENOENT' ? 127 : 126;
}
