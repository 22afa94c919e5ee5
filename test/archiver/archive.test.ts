/** `orangebox archive` as a service: signals, TLS, a store on the disk, the index. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { recorded } from '../../packages/server/src/testing/archiver-bench.ts';
import { cli } from '../cli/spawn.ts';
import { partRequest } from '../helpers/otlp-sender.mjs';
import { type RunningArchiver, runArchiver } from './running-archiver.ts';

let base: string;
let store: string;
const started: RunningArchiver[] = [];
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'obx-archive-'));
  store = join(base, 'store');
});
afterEach(async () => {
  for (const { child, ended } of started.splice(0)) {
    child.kill('SIGKILL');
    await ended;
  }
  rmSync(base, { recursive: true, force: true });
});

async function archiver(args: readonly string[] = [], env: Record<string, string> = {}): Promise<RunningArchiver> {
  const running = await runArchiver(['--store', store, ...args], env);
  started.push(running);
  return running;
}

const post = (url: string, body: Uint8Array, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${url}/v1/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-protobuf', ...headers },
    body: body as Uint8Array<ArrayBuffer>,
  });

const objects = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
    .sort();

/** A request whose head and half of whose body have been sent. */
function halfSent(url: string, body: Buffer): { finish(): Promise<number | undefined> } {
  const sent = request(`${url}/v1/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-protobuf', 'content-length': body.length },
  });
  const response = once(sent, 'response') as Promise<[{ statusCode?: number; resume(): void }]>;
  response.catch(() => undefined);
  sent.write(body.subarray(0, body.length / 2));
  return {
    async finish() {
      sent.end(body.subarray(body.length / 2));
      const [answer] = await response;
      answer.resume();
      return answer.statusCode;
    },
  };
}

describe('at SIGTERM', () => {
  it('it takes to the end what has begun, takes nothing new, writes the index and ends with 0', async () => {
    const running = await archiver();
    const [a, b] = [recorded(), recorded(400_000)];
    expect((await post(running.url, partRequest(a.key, a.part))).status).toBe(200);
    const half = halfSent(running.url, partRequest(b.key, b.part));
    await expect.poll(async () => (await fetch(`${running.url}/metrics`)).text()).toMatch(/in_flight_bytes [1-9]/);
    running.child.kill('SIGTERM');
    await running.said('draining');
    await expect(post(running.url, partRequest(a.key, a.part))).rejects.toThrow();
    expect(await half.finish()).toBe(200);
    expect(await running.ended).toEqual({ code: 0, signal: null });
    const names = objects(store);
    expect(names.filter((name) => name.startsWith('v1/'))).toEqual(
      [a.key, b.key].map((key) => `${key}/snapshot.json.gz`).sort(),
    );
    expect(names.some((name) => name.startsWith('index/v1/'))).toBe(true);
    expect(running.lines.map(({ event }) => event)).toEqual(['listening', 'draining', 'stopped']);
  });

  it('the second one ends it at once', async () => {
    const running = await archiver();
    const { key, part } = recorded(400_000);
    halfSent(running.url, partRequest(key, part));
    await expect.poll(async () => (await fetch(`${running.url}/metrics`)).text()).toMatch(/in_flight_bytes [1-9]/);
    running.child.kill('SIGTERM');
    await running.said('draining');
    running.child.kill('SIGTERM');
    expect(await running.ended).toEqual({ code: null, signal: 'SIGTERM' });
  });
});

it('is killed at any moment without losing what it acknowledged', async () => {
  const acknowledged: string[] = [];
  for (let round = 0; round < 3; round += 1) {
    const running = await archiver();
    const all = Array.from({ length: 60 }, () => recorded(20_000));
    const sent = all.map(async ({ key, part }, i) => {
      const answer = await post(running.url, partRequest(key, part));
      if (answer.status === 200) acknowledged.push(key);
      if (i === 20) running.child.kill('SIGKILL');
    });
    await Promise.allSettled(sent);
    await running.ended;
  }
  const stored = new Set(objects(store).filter((name) => name.endsWith('/snapshot.json.gz')));
  expect(acknowledged.length).toBeGreaterThan(0);
  expect(acknowledged.filter((key) => !stored.has(`${key}/snapshot.json.gz`))).toEqual([]);
});

it('works beside another on one store: each payload is written once', async () => {
  const [a, b] = [await archiver(), await archiver()];
  const all = Array.from({ length: 40 }, () => recorded());
  const answers = await Promise.all(
    all.flatMap(({ key, part }) => [a, b].map(({ url }) => post(url, partRequest(key, part)))),
  );
  expect(answers.every(({ status }) => status === 200)).toBe(true);
  const outcomes = { stored: 0, duplicate: 0 };
  for (const { url } of [a, b]) {
    const text = await (await fetch(`${url}/metrics`)).text();
    for (const name of ['stored', 'duplicate'] as const) {
      outcomes[name] += Number(new RegExp(`payloads_total\\{outcome="${name}"\\} (\\d+)`).exec(text)?.[1] ?? 0);
    }
  }
  expect(outcomes).toEqual({ stored: 40, duplicate: 40 });
  expect(objects(store).filter((name) => name.startsWith('v1/'))).toHaveLength(40);
});

it('makes the index anew: orangebox archive --reindex', async () => {
  const running = await archiver(['--no-index']);
  const all = Array.from({ length: 3 }, () => recorded());
  for (const { key, part } of all) await post(running.url, partRequest(key, part));
  running.child.kill('SIGTERM');
  await running.ended;
  expect(objects(store).filter((name) => name.startsWith('index/'))).toEqual([]);
  const arguments_ = ['archive', '--reindex', '--store', store, '--since', '2026-01-01', '--until', '2030-01-01'];
  const result = cli([...arguments_, '--json'], { cwd: base });
  expect([result.code, result.stderr]).toEqual([0, '']);
  expect(JSON.parse(result.stdout)).toMatchObject({ rows: 3, opened: 3, unreadable: 0 });
  expect(objects(store).filter((name) => name.startsWith('index/'))).not.toEqual([]);
  expect(cli(arguments_, { cwd: base }).stdout).toMatch(/^3 rows of 3 snapshots on 1 day in /);
});

it.each([
  [['--reindex'], /needs to know from when/],
  [['--since', '2h'], /--since goes with --reindex/],
  [['--reindex', '--since', '1h', '--until', '2h'], /--until is not after --since/],
  [['--listen', '0.0.0.0:0'], /nobody would have to prove who they are/],
  [['--writes', 'many'], /--writes must be from 1 to 1,024/],
])('does not start with %o', (args, says) => {
  const result = cli(['archive', '--store', store, ...args], { cwd: base });
  expect(result.code).toBe(2);
  expect(result.stderr).toMatch(says);
});

it('does not start where another listens', async () => {
  const running = await archiver();
  const result = cli(['archive', '--store', store, '--listen', new URL(running.url).host], { cwd: base });
  expect([result.code, result.stderr]).toEqual([7, expect.stringContaining('EADDRINUSE')]);
});

it('takes only clients with a certificate that it knows, where it is told so', async () => {
  const openssl = (...args: string[]): void => {
    const result = spawnSync('openssl', args, { cwd: base, encoding: 'utf8' });
    expect(result.status, result.stderr).toBe(0);
  };
  const certificate = (name: string, issuer?: string): void => {
    const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2'];
    const by = issuer === undefined ? [] : ['-CA', `${issuer}.pem`, '-CAkey', `${issuer}.key`];
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', `${name}.key`];
    openssl('req', '-x509', ...key, '-out', `${name}.pem`, ...subject, ...by);
  };
  certificate('ca');
  certificate('server', 'ca');
  certificate('client', 'ca');
  certificate('stranger');
  const file = (name: string): string => join(base, name);
  const tls = ['--tls-cert', file('server.pem'), '--tls-key', file('server.key'), '--tls-client-ca', file('ca.pem')];
  const running = await archiver(tls);
  expect(running.lines[0]).toMatchObject({ url: expect.stringMatching(/^https:/), auth: 'mtls' });
  const { key, part } = recorded();
  const send = (client?: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const sent = httpsRequest(
        `${running.url}/v1/traces`,
        {
          method: 'POST',
          headers: { 'content-type': 'application/x-protobuf' },
          ca: readFileSync(file('ca.pem')),
          agent: false,
          ...(client && { cert: readFileSync(file(`${client}.pem`)), key: readFileSync(file(`${client}.key`)) }),
        },
        (response) => {
          response.resume();
          resolve(response.statusCode);
        },
      );
      sent.on('error', reject);
      sent.end(partRequest(key, part));
    });
  await expect(send()).rejects.toThrow();
  await expect(send('stranger')).rejects.toThrow();
  expect(existsSync(store) ? objects(store) : []).toEqual([]);
  expect(await send('client')).toBe(200);
});

it.each([
  ['--listen', 'nowhere:at:all', 'HOST:PORT'],
  ['--token-file', 'missing', 'token file'],
  ['--tls-cert', 'missing', 'needs a certificate and its key'],
  ['--tls-key', 'missing', 'needs a certificate and its key'],
  ['--tls-client-ca', 'missing', 'needs a certificate and its key'],
  ['--memory-bytes', '1', '--memory-bytes must be from'],
  ['--max-request-bytes', '1', '--max-request-bytes must be from'],
  ['--max-connections', '0', '--max-connections must be from'],
  ['--writes', 'many', '--writes must be from'],
])('reads %s, and ends with 2 where it makes no sense', (option, value, said) => {
  const result = cli(['archive', '--store', store, option, value], { cwd: base });
  expect(result).toMatchObject({ code: 2, stdout: '' });
  expect(result.stderr).toContain(said);
});
