/** Runs the test program with and without the taps, and gives what it said and what the sink got. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'tsdown';
import { finished } from '../helpers/finished.ts';
import { inRepository } from '../helpers/repository.ts';

/** One exchange as `preload.ts` wrote it. */
export interface SinkExchange {
  url: string;
  kind: string;
  client: string;
  requestHeaders?: [string, string][];
  requestBody: string;
  requestEnded: boolean;
  requestTrailers?: [string, string][];
  informational: number[];
  status?: number;
  statusText?: string;
  responseHeaders?: [string, string][];
  responseTrailers?: [string, string][];
  /** The first 10,000 bytes. */
  responseBase64: string;
  responseBody: string;
  responseBytes: number;
  flushes: string[];
  deliveries: number[];
  times: number[];
  /** Scopes as `kind:name`. */
  place: string[];
  ends: { ending: string; stage: string; error: string }[];
}

/** What a run of a program left. */
export interface Outcome {
  stdout: string;
  stderr: string;
  code: number | null;
  signal: string | null;
  exchanges: SinkExchange[];
}

/** How to run a program. */
export interface RunOptions {
  /** Arguments after the program's path. */
  args?: string[];
  /** Flags of Node before it. */
  nodeArgs?: string[];
  env?: { [name: string]: string };
  /** Called with the child once it runs. */
  onSpawn?: (child: ReturnType<typeof spawn>) => void;
}

/** Bundles a preload of this directory into one CommonJS file; returns its path and the undo. */
export async function bundlePreload(name = 'preload'): Promise<{ file: string; remove: () => void }> {
  const directory = mkdtempSync(join(tmpdir(), 'orangebox-preload-'));
  const aliases = ['schema', 'codec', 'instrument'].map((p) => [
    `@orangebox/${p}`,
    inRepository(`packages/${p}/src/index.ts`),
  ]);
  await build({
    entry: { preload: inRepository(`test/endings/${name}.ts`) },
    config: false,
    outDir: directory,
    format: ['cjs'],
    platform: 'node',
    target: 'node20',
    dts: false,
    fixedExtension: true,
    logLevel: 'error',
    report: false,
    hash: false,
    alias: Object.fromEntries(aliases) as Record<string, string>,
    tsconfig: inRepository('tsconfig.json'),
  });
  return {
    file: join(directory, 'preload.cjs'),
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

/** Runs a program to its end. */
export async function runProgram(file: string, options: RunOptions = {}): Promise<Outcome> {
  const directory = mkdtempSync(join(tmpdir(), 'orangebox-run-'));
  try {
    const child = spawn(process.execPath, [...(options.nodeArgs ?? []), file, ...(options.args ?? [])], {
      env: { PATH: process.env['PATH'], TEST_SINK_DIRECTORY: directory, ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    options.onSpawn?.(child);
    const ended = await finished(child);
    return { ...ended, exchanges: readSinks(directory) };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** What the sinks of all threads and processes of a run wrote. */
function readSinks(directory: string): SinkExchange[] {
  return readdirSync(directory).flatMap(
    (name) => JSON.parse(readFileSync(join(directory, name), 'utf8')) as SinkExchange[],
  );
}
