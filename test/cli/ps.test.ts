/** `orangebox ps`: what is being recorded now, by a program that is held in the middle of its calls. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cliOnTerminal, cliBeside, hasTerminal, plain } from './spawn.ts';

const register = fileURLToPath(new URL('../../packages/orangebox/dist/register.cjs', import.meta.url));
const PIECE = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'x' } }] })}\n\n`;

/** Asks for a stream and says how many bytes it has of it; ends when its standard input does. */
const PROGRAM = `
const ask = async (name) => {
  const response = await fetch(process.env.TARGET + '/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'held-' + name, stream: true, messages: [] }),
  });
  for await (const chunk of response.body) process.stdout.write(name + ' has ' + chunk.length + '\\n');
};
const { Worker, isMainThread, workerData } = require('node:worker_threads');
if (isMainThread) {
  process.stdin.on('data', () => undefined).on('end', () => process.exit());
  ask('main').catch(() => undefined);
  if (process.env.THREADS) new Worker(__filename, { workerData: 'thread' });
} else ask(workerData).catch(() => undefined);
`;

let cwd: string;
let dir: string;
let server: Server;
let target: string;
let held: ServerResponse[];

beforeEach(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'obx-ps-'));
  dir = join(cwd, 'recordings');
  held = [];
  server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(PIECE);
      held.push(response);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  target = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
  rmSync(cwd, { recursive: true, force: true });
});

/** Runs the program until each of `names` has its first chunk, then `look`, then ends it. */
async function whileHeld(
  names: string[],
  look: () => Promise<void>,
  more: Record<string, string> = {},
): Promise<number> {
  const file = join(cwd, 'program.cjs');
  writeFileSync(file, PROGRAM);
  const child = spawn(process.execPath, ['--require', register, file], {
    cwd,
    env: {
      ...(process.env['PATH'] === undefined ? {} : { PATH: process.env['PATH'] }),
      ORANGEBOX_DIR: dir,
      OTEL_SERVICE_NAME: 'held-service',
      TARGET: target,
      ...(names.length > 1 ? { THREADS: '1' } : {}),
      ...more,
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  let said = '';
  await new Promise<void>((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      if (names.every((name) => said.includes(`${name} has`))) resolve();
    });
  });
  try {
    await look();
  } finally {
    child.stdin.end();
    await ended;
  }
  return child.pid ?? 0;
}

/** What a look gives of one thread, as far as it is the same each time. */
function openCall(name: string): object {
  return {
    method: 'POST',
    url: `${target}/v1/chat/completions`,
    model: `held-${name}`,
    stage: 'answering',
    requestBytes: JSON.stringify({ model: `held-${name}`, stream: true, messages: [] }).length,
    responseBytes: PIECE.length,
    responseChunks: 1,
    lastChunkUnixNano: expect.stringMatching(/^\d{19}$/),
  };
}

describe('orangebox ps', () => {
  it('shows a stream that a process holds open: how much came, and when last', async () => {
    let threads: { pid: number }[] = [];
    const pid = await whileHeld(['main'], async () => {
      const { code, stdout } = await cliBeside(['ps', '--json', '--dir', dir], { cwd });
      expect(code).toBe(0);
      ({ threads } = JSON.parse(stdout) as { threads: { pid: number }[] });
      const piped = await cliBeside(['ps', '--dir', dir], { cwd });
      const fields = piped.stdout
        .trim()
        .split('\n')
        .map((line) => line.split('\t'));
      expect(fields.map(([kind]) => kind)).toEqual(['process', 'call']);
      expect(fields[1]?.[6]).toBe('held-main');
    });
    expect(threads).toMatchObject([
      {
        pid,
        threadId: 0,
        serviceName: 'held-service',
        node: process.version,
        endedCalls: 0,
        openCalls: [openCall('main')],
      },
    ]);
  });

  it('shows two threads of a process apart', async () => {
    await whileHeld(['main', 'thread'], async () => {
      const { stdout } = await cliBeside(['ps', '--json', '--dir', dir], { cwd });
      const { threads } = JSON.parse(stdout) as { threads: { threadId: number }[] };
      expect(threads).toHaveLength(2);
      expect(threads.find(({ threadId }) => threadId === 0)).toMatchObject({ openCalls: [openCall('main')] });
      expect(threads.find(({ threadId }) => threadId > 0)).toMatchObject({ openCalls: [openCall('thread')] });
    });
  });

  it('shows a call that sampling has not decided about, once, also while it moves to another file', async () => {
    const look = async (): Promise<object[]> => {
      const { stdout } = await cliBeside(['ps', '--json', '--dir', dir], { cwd });
      return (JSON.parse(stdout) as { threads: object[] }).threads;
    };
    const held = async (): Promise<void> => {
      expect(await look()).toMatchObject([{ endedCalls: 0, openCalls: [openCall('main')], moreOpenCalls: 0 }]);
      const [name = ''] = readdirSync(join(dir, 'segments'), { recursive: true, encoding: 'utf8' }).filter((path) =>
        path.endsWith('.obxs'),
      );
      // As the journal does for a moment when it moves what is open.
      const moved = name.replace(/-(\d+)-0\.obxs$/, (_, startMs: string) => `-${Number(startMs) + 1}-0.obxs`);
      copyFileSync(join(dir, 'segments', name), join(dir, 'segments', moved));
      const threads = await look();
      expect(threads).toHaveLength(1);
      expect(threads).toMatchObject([{ openCalls: [openCall('main')], moreOpenCalls: 0 }]);
      expect((threads[0] as { openCalls: object[] }).openCalls).toHaveLength(1);
    };
    await whileHeld(['main'], held, { ORANGEBOX_SAMPLE: '0' });
  });

  it.skipIf(!hasTerminal)('gives a person a table', async () => {
    await whileHeld(['main'], async () => {
      const { stdout } = await cliOnTerminal(['ps', '--dir', dir], { cwd });
      expect(plain(stdout)).toMatch(/held-service {2}on .*, 0 ended calls, 1 open/);
      expect(plain(stdout)).toMatch(/POST +127\.0\.0\.1:\d+ +held-main +answering/);
    });
  });

  it('says that nothing is being recorded, and what would be', async () => {
    await whileHeld(['main'], async () => undefined);
    const { code, stdout } = await cliBeside(['ps', '--dir', dir], { cwd });
    expect(code).toBe(0);
    expect(stdout).toContain('no process is being recorded');
    expect(stdout).toContain('orangebox run -- node app.js');
    mkdirSync(join(cwd, 'empty'));
    const json = await cliBeside(['ps', '--json', '--dir', join(cwd, 'empty')], { cwd });
    expect(JSON.parse(json.stdout)).toMatchObject({ threads: [] });
  });
});
