/** Programs that are killed in the middle of calls, and the server that they call. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cleanEnv } from '../cli/spawn.ts';
import { inRepository } from '../helpers/repository.ts';

const REGISTER = inRepository('packages/orangebox/dist/register.cjs');
const PROGRAM = inRepository('test/recovery/program.mjs');

/** A model server that remembers what it sent. */
export interface ModelServer {
  url: string;
  /** Bytes of the streamed answers so far, by request. */
  streamed: string[];
  close(): Promise<void>;
}

/** Starts it; a streamed answer is two events and is then held open. */
export async function startModelServer(): Promise<ModelServer> {
  const streamed: string[] = [];
  const server = createServer((req, res) => {
    let body = '';
    req.setEncoding('utf8').on('data', (text: string) => (body += text));
    req.on('end', () => {
      if (!body.includes('"stream":true')) {
        res.writeHead(200, { 'content-type': 'application/json' });
        res.end(
          JSON.stringify({
            id: 'c',
            object: 'chat.completion',
            model: 'gpt-test',
            choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'hello' } }],
          }),
        );
        return;
      }
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      const text = ['He', 'llo']
        .map((content) => `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { content } }] })}\n\n`)
        .join('');
      streamed.push(text);
      res.write(text);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    streamed,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** A recorded program that runs. */
export interface RunningProgram {
  child: ChildProcess;
  /** Resolves when it has said the word. */
  said(word: string): Promise<void>;
  /** Has it make one more call. */
  type(): void;
  kill(): Promise<void>;
}

/** Starts the program under the recorder. */
export function startProgram(dir: string, server: ModelServer, env: Record<string, string> = {}): RunningProgram {
  const child = spawn(process.execPath, ['--require', REGISTER, PROGRAM], {
    env: cleanEnv({ ORANGEBOX_DIR: dir, TEST_SERVER_URL: server.url, ...env }),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let text = '';
  let heard: (() => void)[] = [];
  child.stdout.setEncoding('utf8').on('data', (more: string) => {
    text += more;
    for (const listener of heard) listener();
  });
  return {
    child,
    said: (word) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!text.includes(`${word}\n`)) return;
          heard = heard.filter((listener) => listener !== look);
          resolve();
        };
        heard.push(look);
        look();
        child.once('exit', () => reject(new Error(`the program ended without "${word}"`)));
      }),
    type: () => void child.stdin.write('.\n'),
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'close');
    },
  };
}

/** A directory that is gone after the test. */
export function temporaryBox(): { dir: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'obx-recovery-'));
  return { dir: join(path, 'box'), remove: () => rmSync(path, { recursive: true, force: true }) };
}
