/** From a program with the real SDK to its recording: found, shown, replayed, served, resent, compared. */
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Provider, startProvider } from '../fixtures/provider/server.mjs';
import { CLI, cleanEnv, type CliResult } from './spawn.ts';

const KEY = 'sk-cli-test-not-a-real-key-0123456789';
let cwd: string;
let provider: Provider;
let program: CliResult;

const PROGRAM = `
import OpenAI from 'openai';
const client = new OpenAI({ baseURL: process.env.BASE });
const messages = [{ role: 'user', content: 'Which fruit?' }];
const first = await client.chat.completions.create({ model: 'orange-1', messages });
messages.push(first.choices[0].message, { role: 'user', content: 'And why?' });
const stream = await client.chat.completions.create({ model: 'orange-1', messages, stream: true });
for await (const event of stream) process.stdout.write(event.choices[0]?.delta?.content ?? '');
const flaky = new OpenAI({ baseURL: process.env.BASE.replace('/v1', '/~status=429,times=1,retry-after-ms=20/v1') });
await flaky.chat.completions.create({ model: 'orange-2', messages: [{ role: 'user', content: 'once more' }] });
`;

/** Runs the command beside the provider, which lives in this process. */
function orangebox(args: readonly string[], options: { env?: { [name: string]: string } } = {}): Promise<CliResult> {
  const child = spawn(process.execPath, [CLI, ...args], {
    cwd,
    env: cleanEnv(options.env),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const result: CliResult = { code: null, signal: null, stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    result.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    result.stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ ...result, code, signal }));
  });
}

interface Listed {
  ref: string;
  trace: { spanId: string };
  session: { id: string };
  summary: { model: string; attempts: number; stream: boolean };
}

async function listed(): Promise<Listed[]> {
  return JSON.parse((await orangebox(['ls', '--json', '--kind', 'llm'])).stdout) as Listed[];
}

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'obx-cli-record-'));
  symlinkSync(fileURLToPath(new URL('../../node_modules', import.meta.url)), join(cwd, 'node_modules'));
  writeFileSync(join(cwd, 'program.mjs'), PROGRAM);
  provider = await startProvider();
  program = await orangebox(['run', '--', process.execPath, 'program.mjs'], {
    env: { BASE: `${provider.url}/v1`, OPENAI_API_KEY: KEY },
  });
});

afterAll(async () => {
  await provider.close();
  rmSync(cwd, { recursive: true, force: true });
});

describe('a program under orangebox run', () => {
  it('says and does what it does alone', () => {
    expect(program).toMatchObject({ code: 0, signal: null, stderr: '' });
    expect(program.stdout).toContain('And why?');
  });

  it('is listed call by call, with attempts, sessions and streams', async () => {
    const calls = await listed();
    expect(calls.map((call) => [call.summary.model, call.summary.attempts, call.summary.stream])).toEqual([
      ['orange-2', 2, false],
      ['orange-1', 1, true],
      ['orange-1', 1, false],
    ]);
    expect(calls[1]?.session.id).toBe(calls[2]?.session.id);
    expect(calls[0]?.session.id).not.toBe(calls[1]?.session.id);
  });

  it('is shown without what the call before had', async () => {
    const [, streamed, first] = await listed();
    const { stdout } = await orangebox(['show', streamed?.ref ?? '']);
    expect(stdout).toContain(`… 2 messages as in ${first?.ref} (--all shows them)`);
    expect(stdout).not.toContain('Which fruit?\n\n');
    expect(stdout).toMatch(/▌user\n {2}And why\?/);
  });

  it('leaves no credential in anything the command prints', async () => {
    const [retried] = await listed();
    for (const form of [[], ['--all'], ['--http'], ['--curl'], ['--json'], ['--raw']]) {
      const { stdout, code } = await orangebox(['show', retried?.ref ?? '', ...form]);
      expect(code).toBe(0);
      expect(stdout).not.toContain(KEY);
    }
  });
});

describe('replay', () => {
  it('gives the real SDK the recorded answer, attempt by attempt, while the provider hears nothing', async () => {
    const heard = provider.requests.length;
    for (const call of await listed()) {
      const { stdout, code } = await orangebox(['replay', call.ref]);
      expect(stdout).toMatch(/^▶ replayed [0-9a-f]+ through openai \d/);
      expect(stdout).toContain('byte for byte');
      expect(stdout).toContain('no outgoing socket');
      expect(code).toBe(0);
    }
    expect(provider.requests.length).toBe(heard);
  });

  it('falls back to plain fetch where no SDK is found, and says so', async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), 'obx-cli-elsewhere-'));
    cpSync(join(cwd, '.orangebox'), join(elsewhere, '.orangebox'), { recursive: true });
    const child = spawn(process.execPath, [CLI, 'replay', 'last', '--json'], {
      cwd: elsewhere,
      env: cleanEnv(),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let stdout = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    await new Promise((resolve) => child.once('close', resolve));
    expect(JSON.parse(stdout)).toMatchObject({ via: { kind: 'fetch' }, requestMatch: 'exact', refusedSockets: 0 });
    rmSync(elsewhere, { recursive: true });
  });

  it('--serve answers a client on loopback with the recorded bytes', async () => {
    const [, , first] = await listed();
    const child = spawn(process.execPath, [CLI, 'replay', first?.ref ?? '', '--serve', '--json'], {
      cwd,
      env: cleanEnv(),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = new Promise((resolve) => child.once('close', resolve));
    const line = await new Promise<string>((resolve) => child.stdout.setEncoding('utf8').once('data', resolve));
    const { baseUrl } = JSON.parse(line) as { baseUrl: string };
    const request = (await orangebox(['show', first?.ref ?? '', '--raw', '--request'])).stdout;
    const recorded = (await orangebox(['show', first?.ref ?? '', '--raw'])).stdout;
    const response = await fetch(`${baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: request,
    });
    expect(response.status).toBe(200);
    expect(await response.text()).toBe(recorded);
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
  });
});

describe('resend and diff', () => {
  const env = { OPENAI_API_KEY: KEY };

  it('is refused for a host that is nobody’s own, and without a yes', async () => {
    const heard = provider.requests.length;
    const [, , first] = await listed();
    const foreign = await orangebox(['resend', first?.ref ?? '', '--yes'], { env });
    expect([foreign.code, foreign.stderr.split('\n')[0]]).toEqual([6, expect.stringContaining('not the own host')]);
    const unasked = await orangebox(['resend', first?.ref ?? '', '--base-url', `${provider.url}/v1`], { env });
    expect([unasked.code, unasked.stderr]).toEqual([6, expect.stringContaining('add --yes')]);
    expect(provider.requests.length).toBe(heard);
  });

  it('sends the recorded bytes, says that nothing changed, and keeps the new call for diff', async () => {
    const [, , first] = await listed();
    const heard = provider.requests.length;
    const { stdout, stderr, code } = await orangebox(
      ['resend', first?.ref ?? '', '-n', '2', '--base-url', `${provider.url}/v1`, '--yes'],
      { env },
    );
    expect(stderr).toContain('authorization from $OPENAI_API_KEY');
    expect(stdout).toContain('identical');
    expect(stdout).toMatch(/noise floor +0 of 1 pair of resent answers different/);
    expect(code).toBe(0);
    expect(provider.requests.length).toBe(heard + 2);
    const now = await listed();
    for (const { ref } of now.slice(0, 2)) expect(stdout).toContain(`  ${ref}  200`);
    const compared = await orangebox(['diff', first?.ref ?? '', now[0]?.ref ?? '']);
    expect(compared.stdout).toContain('identical');
    expect(compared.code).toBe(0);
  });

  it('says why no answer came, and compares nothing then', async () => {
    const [, , first] = await listed();
    const args = ['resend', first?.ref ?? '', '--base-url', 'http://127.0.0.1:1/v1', '--yes', '--no-keep'];
    const { stdout, code } = await orangebox(args, { env });
    expect(stdout).toMatch(/connect failed[^]*no answer {2}\S/);
    expect(stdout).not.toContain('different');
    expect(code).toBe(7);
  });

  it('ends with 1 where two calls are different, and says where', async () => {
    const calls = await listed();
    const [a, b] = [calls.find((c) => c.summary.stream), calls.at(-1)];
    const { stdout, code } = await orangebox(['diff', a?.ref ?? '', b?.ref ?? '']);
    expect(stdout).toContain('different');
    expect(stdout).toContain('request.messages.length');
    expect(code).toBe(1);
  });
});

describe('a program whose calls are not recognised', () => {
  it('is told by orangebox alone which host it talked to, and the line that would record it', async () => {
    const place = join(cwd, 'unrecognised');
    mkdirSync(place);
    const script = `fetch(process.env.BASE.replace('/v1', '/predict'), { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"x":1}' })`;
    const host = new URL(provider.url).host;
    const env = { BASE: `${provider.url}/v1`, ORANGEBOX_DIR: join(place, '.orangebox') };
    expect((await orangebox(['run', '--', process.execPath, '-e', script], { env })).code).toBe(0);
    const { stdout } = await orangebox([], { env });
    expect(stdout).toContain(`recognised no LLM call; it talked to ${host}`);
    expect(stdout).toContain(`ORANGEBOX_INCLUDE=${new URL(provider.url).hostname} npx orangebox run -- COMMAND`);
  });
});
