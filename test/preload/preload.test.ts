/** The preload in every way of starting a program, and every way of ending one. */
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundlePreload, type Outcome, type RunOptions, runProgram } from '../endings/harness.ts';
import { inRepository } from '../helpers/repository.ts';
import { type PreloadServer, startServer } from './server.mjs';

let server: PreloadServer;
let preload: { file: string; remove: () => void };
/** The same file under another name, as two installed versions would be. */
let copy: string;

beforeAll(async () => {
  [server, preload] = await Promise.all([startServer(), bundlePreload()]);
  copy = preload.file.replace('preload.cjs', 'copy.cjs');
  copyFileSync(preload.file, copy);
});
afterAll(async () => {
  preload.remove();
  await server.close();
});

const run = (program: string, options: RunOptions = {}): Promise<Outcome> =>
  runProgram(inRepository(`test/preload/programs/${program}`), {
    ...options,
    args: [server.url, ...(options.args ?? [])],
  });

const clients = (outcome: Outcome): string[] => outcome.exchanges.map((e) => `${e.client} ${e.ends[0]?.ending}`).sort();
const both = ['http complete', 'undici complete'];

describe('starting', () => {
  const ways: [name: string, options: () => RunOptions][] = [
    ['--require', () => ({ nodeArgs: ['--require', preload.file] })],
    ['--import', () => ({ nodeArgs: ['--import', preload.file] })],
    ['both', () => ({ nodeArgs: ['--require', preload.file, '--import', preload.file] })],
    ['two copies', () => ({ nodeArgs: ['--require', preload.file, '--import', copy] })],
    [
      '--import after http was loaded',
      () => ({ nodeArgs: ['--import', 'data:text/javascript,import "node:http"', '--import', preload.file] }),
    ],
    ['NODE_OPTIONS', () => ({ env: { NODE_OPTIONS: `--require ${preload.file}` } })],
    ['NODE_OPTIONS with --import', () => ({ env: { NODE_OPTIONS: `--import ${preload.file}` } })],
    [
      'NODE_OPTIONS and the flag',
      () => ({ nodeArgs: ['--require', preload.file], env: { NODE_OPTIONS: `--import ${preload.file}` } }),
    ],
  ];
  it.for(ways.flatMap(([way, options]) => ['call.cjs', 'call.mjs'].map((p) => [way, p, options] as const)))(
    '%s records each call of %s once',
    async ([, program, options]) => {
      const outcome = await run(program, options());
      expect([outcome.stdout, outcome.stderr, outcome.code]).toEqual(['done\n', '', 0]);
      expect(clients(outcome)).toEqual(both);
    },
  );

  it('reaches worker threads', async () => {
    const outcome = await run('worker.mjs', { nodeArgs: ['--require', preload.file] });
    expect(outcome.stdout).toContain('worker 0');
    expect(clients(outcome)).toEqual(both);
  });

  it('reaches child processes with another working directory through NODE_OPTIONS', async () => {
    const outcome = await run('child.mjs', { env: { NODE_OPTIONS: `--require ${preload.file}` } });
    expect(clients(outcome)).toEqual(both);
  });

  it('reaches cluster workers', async () => {
    const outcome = await run('cluster.mjs', { nodeArgs: ['--require', preload.file] });
    expect(clients(outcome)).toEqual(both);
  });

  it('records nothing with ORANGEBOX_LEVEL=off and nothing that is no LLM call', async () => {
    const off = await run('call.mjs', { nodeArgs: ['--require', preload.file], env: { ORANGEBOX_LEVEL: 'off' } });
    const idle = await run('idle.mjs', { nodeArgs: ['--require', preload.file] });
    expect([off.stdout, off.exchanges, idle.stdout, idle.exchanges]).toEqual(['done\n', [], 'done\n', []]);
  });

  it('records all HTTP with ORANGEBOX_INCLUDE=* and nothing excluded', async () => {
    const nodeArgs = ['--require', preload.file];
    const all = await run('idle.mjs', { nodeArgs, env: { ORANGEBOX_INCLUDE: '*' } });
    const none = await run('call.mjs', { nodeArgs, env: { ORANGEBOX_EXCLUDE: '127.0.0.1' } });
    expect(all.exchanges.map((e) => e.kind)).toEqual(['http']);
    expect(none.exchanges).toEqual([]);
  });

  it('warns once of a bad value and goes on', async () => {
    const outcome = await run('call.mjs', { nodeArgs: ['--require', preload.file], env: { ORANGEBOX_LEVEL: 'loud' } });
    expect(outcome.stderr.split('\n').length).toBe(2);
    expect(outcome.stderr).toContain('ORANGEBOX_LEVEL="loud"');
    expect(clients(outcome)).toEqual(both);
  });

  it('reports to `orangebox run` which hosts were seen, and only to it', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'orangebox-report-'));
    try {
      const file = join(directory, 'report');
      const nodeArgs = ['--require', preload.file];
      await run('idle.mjs', { nodeArgs, env: { ORANGEBOX_RUN_REPORT: file } });
      const host = server.url.slice('http://'.length);
      expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ recorded: 0, hosts: [{ host, count: 1 }] });
      rmSync(file);
      await run('idle.mjs', { nodeArgs });
      expect(readdirSync(directory)).toEqual([]);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});

describe('ending', () => {
  /** Sends the signal once the call is open, with and without the preload. */
  async function signalled(reaction: string, signal: NodeJS.Signals): Promise<{ bare: Outcome; tapped: Outcome }> {
    const one = async (nodeArgs: string[]): Promise<Outcome> =>
      run('signal.mjs', {
        nodeArgs,
        args: [reaction],
        onSpawn: (child) => {
          child.stdout?.once('data', () => child.kill(signal));
        },
      });
    return { bare: await one([]), tapped: await one(['--require', preload.file]) };
  }

  it.for([
    ['none', 'SIGTERM'],
    ['none', 'SIGINT'],
    ['none', 'SIGKILL'],
    ['handler', 'SIGTERM'],
    ['stubborn', 'SIGTERM'],
    ['counting', 'SIGTERM'],
  ] as const)('a program with reaction "%s" ends by %s as without the preload', async ([reaction, signal]) => {
    const { bare, tapped } = await signalled(reaction, signal);
    expect([tapped.stdout, tapped.stderr, tapped.code, tapped.signal]).toEqual([
      bare.stdout,
      bare.stderr,
      bare.code,
      bare.signal,
    ]);
    if (signal === 'SIGKILL') expect(tapped.exchanges).toEqual([]);
    else expect(tapped.exchanges.map((e) => e.ends)).toHaveLength(1);
    if (reaction === 'none' && signal !== 'SIGKILL') {
      expect(tapped.signal).toBe(signal);
      expect(tapped.exchanges[0]?.ends).toEqual([
        { ending: 'process_exit', stage: 'response_body', error: 'undefined' },
      ]);
      expect(tapped.exchanges[0]?.flushes).toContain('flush');
    }
  });

  it('an uncaught error ends the program as without the preload, with the call written down', async () => {
    const bare = await run('signal.mjs', { args: ['throw'] });
    const tapped = await run('signal.mjs', { args: ['throw'], nodeArgs: ['--require', preload.file] });
    expect([tapped.stderr, tapped.code]).toEqual([bare.stderr, bare.code]);
    expect(tapped.exchanges[0]?.ends[0]?.ending).toBe('process_exit');
  });
});
