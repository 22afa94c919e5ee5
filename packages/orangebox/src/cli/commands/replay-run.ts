/** `orangebox replay RUN -- COMMAND…`: a recorded run again, offline, and a receipt of it. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { makeReceipt, parseMatchRules, receiptJson, receiptText } from '@orangebox/replay';
import {
  type FoundRun,
  findRun,
  parseReports,
  type ProcessReport,
  readRun,
  runDigest,
} from '@orangebox/replay/process';
import { OrangeboxError } from '@orangebox/schema';
import { confirm } from '../ask.ts';
import type { CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { locate } from '../locate.ts';
import { receiptFacts } from '../replay-run/receipt-facts.ts';
import { hashOfDirectory, replayEnvironment } from '../replay-run/replay-environment.ts';
import { escapeLine } from '../text/escape.ts';
import { cannotRun, passSignals } from './run.ts';

/** Options of a run's replay. */
export interface ReplayRunOptions {
  rules?: string;
  receipt?: string;
  yes?: boolean;
  json?: boolean;
}

/** Runs the program again and ends with the exit code of the receipt's verdict. */
export async function replayRun(
  context: CommandContext,
  reference: string,
  words: readonly string[],
  options: ReplayRunOptions,
): Promise<number> {
  const located = locate(context);
  const found = findRun(located.dir, reference);
  const command = words.length > 0 ? words : await recordedCommand(context, found, options);
  if (command === undefined) return EXIT.ok;
  const rules = options.rules === undefined ? [] : readRules(resolve(context.cwd, options.rules));
  const scratch = mkdtempSync(join(tmpdir(), 'orangebox-replay-'));
  try {
    const plan = join(scratch, 'plan.json');
    const report = join(scratch, 'report');
    writeFileSync(plan, JSON.stringify({ runId: found.runId, threads: found.threads, report, rules }), { mode: 0o600 });
    const [program = '', ...args] = command;
    const child = spawn(program, args, {
      stdio: 'inherit',
      env: replayEnvironment(context.env, { found, plan, directory: located.dir, preload: preloadPath() }),
    });
    const ended = new Promise<void>((done, failed) => {
      child.once('error', failed);
      child.once('exit', () => done());
    });
    const stop = passSignals((signal) => void child.kill(signal), process.stdin.isTTY === true);
    try {
      await ended.finally(stop);
    } catch (error) {
      return cannotRun(context, program, error, `orangebox replay ${found.runId} -- node app.js`);
    }
    return conclude(context, found, command, parseReports(readReport(report)), options);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** The receipt, on standard error: standard output is the program's. */
function conclude(
  context: CommandContext,
  found: FoundRun,
  command: readonly string[],
  reports: readonly ProcessReport[],
  options: ReplayRunOptions,
): number {
  const failure = reports.find((report) => report.failure)?.failure;
  if (failure) throw new OrangeboxError(isCoded(failure.code) ? failure.code : 'OBX_RUN_UNREADABLE', failure.message);
  const recorded = found.threads.map(({ files }) => readRun(files));
  const receipt = makeReceipt(receiptFacts({ found, command, reports, recorded, digest: runDigest(found) }));
  if (options.receipt !== undefined) {
    writeFileSync(resolve(context.cwd, options.receipt), `${receiptJson(receipt)}\n`, { mode: 0o600 });
  }
  context.terminal.note(options.json === true ? receiptJson(receipt) : receiptText(receipt).trimEnd());
  return receipt.exitCode;
}

function isCoded(code: string): code is `OBX_${string}` {
  return /^OBX_[A-Z0-9_]+$/.test(code);
}

/** The preload of a replay: a file of this package, whatever the program's directory has. */
function preloadPath(): string {
  return createRequire(import.meta.url).resolve('orangebox/replay-register');
}

/**
 * The recorded command, shown and agreed to. What comes from elsewhere is never run: the recording must know this directory
 * by the key that is kept here.
 */
async function recordedCommand(
  context: CommandContext,
  { runId, start }: FoundRun,
  { yes }: ReplayRunOptions,
): Promise<string[] | undefined> {
  if (start.cwdHash !== hashOfDirectory(locate(context).dir, context.cwd)) {
    throw new OrangeboxError('OBX_RUN_COMMAND_REFUSED', `${runId} was not recorded in this directory`, {
      hint: `name the command: orangebox replay ${runId} -- node app.js`,
    });
  }
  const command = [start.execPath === 'node' ? 'node' : '', ...start.argv];
  if (command[0] === '' || start.argv.length === 0) {
    throw new OrangeboxError('OBX_RUN_COMMAND_REFUSED', `${runId} holds no command of node with a file`, {
      hint: `name the command: orangebox replay ${runId} -- node app.js`,
    });
  }
  if (yes === true) return command;
  const agreed = await confirm(context, `run ${command.map(escapeLine).join(' ')}?`, 'running a recorded command');
  return agreed ? command : undefined;
}

function readRules(file: string): ReturnType<typeof parseMatchRules> {
  let data: unknown;
  try {
    data = JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new OrangeboxError('OBX_FILE_RULES', `${escapeLine(file)} is no JSON that can be read`, { cause });
  }
  return parseMatchRules(data);
}

/** Nothing where the program was never under the preload. */
function readReport(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
