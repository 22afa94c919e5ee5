/** Records programs against the local provider and replays them without it. */
import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Receipt } from '@orangebox/replay';
import { type CliResult, type RunningCli, startCli } from '../cli/spawn.ts';
import { startProvider } from '../fixtures/provider/server.mjs';
import { inRepository } from '../helpers/repository.ts';

/** A key as providers give them; it is nowhere in a recording. */
export const KEY = 'sk-run-replay-0123456789abcdefghij';

/** A program and where its packages are. */
export interface RunProgram {
  /** File in `programs/`. */
  file: string;
  /** Folder of `test/programs` whose packages it uses; those of the repository by default. */
  packages?: string;
  /** What the provider does. */
  script?: string;
  args?: string[];
  /** Writes to its standard input, which is a pipe; without it there is none. */
  type?: (running: RunningCli) => void;
}

/** A recorded run, whose provider is gone. */
export interface RecordedProgram {
  directory: string;
  runId: string;
  /** The environment it was recorded in. */
  env: { [name: string]: string };
  recorded: CliResult & { own: string };
  /** What the command said of the run. */
  said: string[];
  /** Replays it; `args` are those of the command line after `--`. */
  replay(options?: ReplayOptions): Promise<ReplayedProgram>;
  /** Requests that reached the provider. */
  requests: number;
}

/** How to replay. */
export interface ReplayOptions {
  command?: string[];
  options?: string[];
  env?: { [name: string]: string };
  /** As of a program. */
  type?: (running: RunningCli) => void;
}

/** What a replay gave. */
export interface ReplayedProgram extends CliResult {
  /** Standard error of the program, without the receipt. */
  own: string;
  receipt: Receipt | undefined;
}

const directories: string[] = [];

/** Removes what the tests made. */
export function cleanUp(): void {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
}

/** A directory with a program and its packages. */
export function placeProgram({ file, packages }: RunProgram): string {
  const directory = mkdtempSync(join(tmpdir(), 'obx-run-replay-'));
  directories.push(directory);
  cpSync(inRepository(`test/run-replay/programs/${file}`), join(directory, basename(file)));
  const modules = packages === undefined ? 'node_modules' : `test/programs/${packages}/node_modules`;
  symlinkSync(inRepository(modules), join(directory, 'node_modules'));
  return directory;
}

/** Records a program; the provider is closed when this returns. */
export async function recordProgram(program: RunProgram): Promise<RecordedProgram> {
  const directory = placeProgram(program);
  const provider = await startProvider({ script: program.script ?? '' });
  const env = { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: `${provider.url}/v1` };
  const command = [process.execPath, basename(program.file), ...(program.args ?? [])];
  let recorded: CliResult;
  try {
    recorded = await typedTo(
      startCli(['run', '--replayable', '--', ...command], {
        cwd: directory,
        env,
        hasInput: program.type !== undefined,
      }),
      program.type,
    );
  } finally {
    await provider.close();
  }
  const lines = recorded.stderr.split('\n');
  const said = lines.filter((line) => line.startsWith('orangebox '));
  const own = lines.filter((line) => !line.startsWith('orangebox ')).join('\n');
  const runId = /recorded (run-[0-9a-f]{12})/.exec(recorded.stderr)?.[1] ?? '';
  return {
    directory,
    runId,
    env,
    recorded: { ...recorded, own },
    said,
    requests: provider.requests.length,
    async replay(how = {}) {
      const receiptFile = join(directory, '.orangebox', 'receipt.json');
      rmSync(receiptFile, { force: true });
      const words = how.command ?? command;
      const args = ['replay', runId, '--receipt', receiptFile, ...(how.options ?? []), '--', ...words];
      const result = await typedTo(
        startCli(args, { cwd: directory, env: { ...env, ...how.env }, hasInput: how.type !== undefined }),
        how.type,
      );
      const end = result.stderr.search(/^(?:not )?replayed/m);
      const plain = (text: string): string => withoutCopy(text, directory);
      return {
        ...result,
        stdout: plain(result.stdout),
        own: plain(end < 0 ? result.stderr : result.stderr.slice(0, end)),
        receipt: readReceipt(receiptFile),
      };
    },
  };
}

/** The end of a command that is written to. */
function typedTo(running: RunningCli, type: ((running: RunningCli) => void) | undefined): Promise<CliResult> {
  // It may end before all was written.
  running.child.stdin?.on('error', () => undefined);
  type?.(running);
  return running.ended;
}

/** The path of a copy of the directory, where a program says it, as the directory's own. */
function withoutCopy(text: string, directory: string): string {
  const copy = new RegExp(`${realpathSync(tmpdir())}/orangebox-replay-\\w+/copy(?:/\\d+)*/${basename(directory)}`, 'g');
  return text.replaceAll(copy, directory);
}

function readReceipt(file: string): Receipt | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Receipt;
  } catch {
    return undefined;
  }
}
