/** Programs that call no model, under NODE_OPTIONS: they must not notice the preload at all. */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { inRepository } from '../helpers/repository.ts';
import { registerFile } from './harness.ts';

const probe = inRepository('test/preload/probe.cjs');
const directories: string[] = [];

afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});

interface QuietRun {
  stdout: string;
  stderr: string;
  code: number | null;
  /** Files opened to write and sockets, of all processes, without what differs by name only. */
  seen: string[];
  files: string[];
}

/** A small project in a fresh directory, with a home of its own. */
function project(): string {
  const directory = mkdtempSync(join(tmpdir(), 'orangebox-quiet-'));
  directories.push(directory);
  mkdirSync(join(directory, 'home'));
  mkdirSync(join(directory, 'probe'));
  const own = join(directory, 'project');
  mkdirSync(own);
  writeFileSync(
    join(own, 'package.json'),
    JSON.stringify({ name: 'p', version: '1.0.0', scripts: { hello: 'node a.js' } }),
  );
  writeFileSync(join(own, 'a.js'), 'console.log("hello")\n');
  writeFileSync(join(own, 'a.ts'), 'export const a: number = 1;\n');
  // A package with a command, as npx finds one.
  const tool = join(own, 'node_modules/hi');
  mkdirSync(tool, { recursive: true });
  writeFileSync(join(tool, 'package.json'), JSON.stringify({ name: 'hi', version: '1.0.0', bin: 'hi.js' }));
  writeFileSync(join(tool, 'hi.js'), '#!/usr/bin/env node\nconsole.log("hi")\n', { mode: 0o755 });
  mkdirSync(join(own, 'node_modules/.bin'));
  symlinkSync('../hi/hi.js', join(own, 'node_modules/.bin/hi'));
  return directory;
}

async function run(
  command: string[],
  options: { preload: boolean; input?: string; until?: string },
): Promise<QuietRun> {
  const directory = project();
  const [file = '', ...args] = command;
  const child = spawn(file, args, {
    cwd: join(directory, 'project'),
    env: {
      PATH: `${dirname(process.execPath)}:${inRepository('node_modules/.bin')}:${process.env['PATH'] ?? ''}`,
      HOME: join(directory, 'home'),
      NODE_OPTIONS: ['--require', probe, ...(options.preload ? ['--require', registerFile] : [])].join(' '),
      TEST_PROBE_FILE: join(directory, 'probe/list'),
      npm_config_update_notifier: 'false',
      npm_config_offline: 'true',
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    // A server that speaks over stdio ends when its input ends.
    if (options.until !== undefined && stdout.includes(options.until)) child.stdin.end();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  if (options.input !== undefined) child.stdin.write(options.input);
  if (options.until === undefined) child.stdin.end();
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  const plain = (text: string): string =>
    text.replaceAll(directory, '<dir>').replace(/\d{4}-\d\d-\d\dT[\w.-]+/g, '<time>');
  const seen = readdirSync(join(directory, 'probe')).flatMap(
    (name) => (JSON.parse(readFileSync(join(directory, 'probe', name), 'utf8')) as { seen: string[] }).seen,
  );
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((f) => !f.startsWith('probe'));
  return {
    stdout: plain(stdout),
    stderr: plain(stderr),
    code,
    seen: seen.map(plain).sort(),
    files: files.map(plain).sort(),
  };
}

const request = (id: number, method: string, params: object): string =>
  `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;
const mcpInput =
  request(1, 'initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 't', version: '1' },
  }) +
  `${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n` +
  request(2, 'tools/call', { name: 'weather', arguments: { city: 'Oslo' } });

it.each([
  ['npm', ['npm', 'run', 'hello'], {}],
  ['npx', ['npx', '--no-install', 'hi'], {}],
  ['tsc', ['tsc', '--ignoreConfig', '--noCheck', '--outDir', 'out', 'a.ts'], {}],
  [
    'a stdio MCP server',
    [process.execPath, inRepository('test/programs/mcp/server.mjs')],
    { input: mcpInput, until: 'Rain in Oslo' },
  ],
] as [string, string[], { input?: string; until?: string }][])(
  'leaves %s as it is: no file, no socket, no byte of output',
  async (_name, command, options) => {
    const without = await run(command, { ...options, preload: false });
    const with_ = await run(command, { ...options, preload: true });
    expect(without.code).toBe(0);
    expect(with_).toEqual(without);
  },
);

it('loads in a third of what the start of Node.js itself takes', async () => {
  const starts: number[] = [];
  const loads: number[] = [];
  for (let i = 0; i < 15; i++) {
    const code = `const s=process.cpuUsage();require(${JSON.stringify(registerFile)});const e=process.cpuUsage();process.stdout.write([s.user+s.system,e.user+e.system].join())`;
    const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    await new Promise((resolve) => child.on('close', resolve));
    const [started = 0, loaded = 0] = text.split(',').map(Number);
    starts.push(started);
    loads.push(loaded - started);
  }
  // CPU time, and the best of several: the machine may be busy with other tests, or slow.
  expect(Math.min(...loads)).toBeLessThan(Math.min(...starts) / 3);
});
