/** `orangebox ship` beside programs that ship nothing themselves. */
import { readdirSync, readFileSync, rmSync, watch } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { cli, type RunningCli, startCli } from '../cli/spawn.ts';
import { type Behaviour, type OtlpReceiver, startOtlpReceiver } from '../helpers/otlp-receiver.mjs';
import { type ModelServer, type RunningProgram, startModelServer, startProgram, temporaryBox } from './harness.ts';

let server: ModelServer;
let clean: (() => unknown)[] = [];

beforeAll(async () => {
  server = await startModelServer();
});
afterAll(() => server.close());
afterEach(async () => {
  for (const step of clean.reverse()) await step();
  clean = [];
});

function box(): string {
  const { dir, remove } = temporaryBox();
  clean.push(remove);
  return dir;
}

async function receiver(behave?: Behaviour): Promise<OtlpReceiver> {
  const started = await startOtlpReceiver(behave);
  clean.push(() => started.close());
  return started;
}

function program(dir: string, env: Record<string, string> = {}): RunningProgram {
  const started = startProgram(dir, server, env);
  clean.push(() => started.kill());
  return started;
}

function sidecar(dir: string, env: Record<string, string>, ...more: string[]): RunningCli {
  const running = startCli(['ship', dir, ...more], { cwd: dir, env });
  clean.push(async () => {
    running.child.kill('SIGKILL');
    await running.ended;
  });
  return running;
}

const keysOf = (otlp: OtlpReceiver): string[] =>
  otlp.requests
    .filter(({ status }) => status < 300)
    .flatMap(({ spans }) => spans)
    .filter(({ events }) => events.length > 0)
    .map(({ resource }) => String(resource['orangebox.snapshot.key']));

it('follows a program that lives, goes on after a restart, and recovers it when it is killed', async () => {
  const dir = box();
  const running = program(dir, { TEST_CALLS: '2' });
  await running.said('streaming');
  const otlp = await receiver();
  const first = sidecar(dir, { ORANGEBOX_ENDPOINT: otlp.url });
  await otlp.until(() => keysOf(otlp).length === 2);
  running.type();
  await otlp.until(() => keysOf(otlp).length === 3);
  first.child.kill('SIGTERM');
  const ended = await first.ended;
  expect([ended.code, ended.stderr]).toEqual([0, '']);
  expect(ended.stdout).toContain('following');
  expect(ended.stdout).toContain('3 payloads sent');
  expect(ended.stdout.trim().split('\n')).toHaveLength(3);

  running.type();
  await running.said('typed 2');
  const second = sidecar(dir, { ORANGEBOX_ENDPOINT: otlp.url });
  await otlp.until(() => keysOf(otlp).length === 4);
  await running.kill();
  await second.said('has ended');
  expect(keysOf(otlp)).toHaveLength(5);
  expect(new Set(keysOf(otlp)).size).toBe(5);
  second.child.kill('SIGTERM');
  expect((await second.ended).stdout).toContain('1 call of a process that died completed');
  const files = readdirSync(join(dir, 'segments'), { recursive: true, withFileTypes: true }).filter((f) => f.isFile());
  expect(files).toHaveLength(2);
});

it('loses nothing and repeats little when it is killed itself', async () => {
  const dir = box();
  const running = program(dir, { TEST_CALLS: '5', TEST_STREAM: 'no' });
  await running.said('called');
  const otlp = await receiver();
  const first = sidecar(dir, { ORANGEBOX_ENDPOINT: otlp.url });
  await otlp.until(() => keysOf(otlp).length >= 1);
  first.child.kill('SIGKILL');
  await first.ended;
  const second = sidecar(dir, { ORANGEBOX_ENDPOINT: otlp.url });
  await otlp.until(() => new Set(keysOf(otlp)).size === 5);
  running.type();
  await otlp.until(() => new Set(keysOf(otlp)).size === 6);
  second.child.kill('SIGTERM');
  expect((await second.ended).code).toBe(0);
});

it('leaves a program alone that ships its own calls', async () => {
  const dir = box();
  const otlp = await receiver();
  const running = program(dir, { ORANGEBOX_ENDPOINT: otlp.url, TEST_CALLS: '3' });
  await running.said('streaming');
  await otlp.until(() => keysOf(otlp).length === 3);
  const claims = readdirSync(join(dir, 'claims'));
  expect(claims).toHaveLength(1);
  expect(JSON.parse(readFileSync(join(dir, 'claims', claims[0] ?? ''), 'utf8'))).toMatchObject({
    kind: 'program',
    pid: running.child.pid,
  });
  const beside = sidecar(dir, { ORANGEBOX_ENDPOINT: otlp.url }, '--once');
  const { code, stdout } = await beside.ended;
  expect(code).toBe(0);
  expect(stdout).not.toContain('following');
  expect(keysOf(otlp)).toHaveLength(3);
});

it('does not follow a journal of calls that sampling has not decided about, and lets go of what was removed', async () => {
  const dir = box();
  const undecided = program(dir, { TEST_CALLS: '0', ORANGEBOX_SAMPLE: '0' });
  const running = program(dir, { TEST_CALLS: '1' });
  await Promise.all([undecided.said('streaming'), running.said('streaming')]);
  const otlp = await receiver();
  const beside = sidecar(dir, { ORANGEBOX_ENDPOINT: otlp.url });
  await otlp.until(() => keysOf(otlp).length === 1);
  const claims = (): string[] => readdirSync(join(dir, 'claims')).filter((name) => !name.startsWith('.'));
  expect(claims()).toHaveLength(1);
  const isGone = new Promise<void>((resolve) => {
    const watcher = watch(join(dir, 'claims'), () => {
      if (claims().length > 0) return;
      watcher.close();
      resolve();
    });
  });
  rmSync(join(dir, 'segments'), { recursive: true });
  await isGone;
  beside.child.kill('SIGTERM');
  expect((await beside.ended).stdout.match(/following/g)).toHaveLength(1);
});

it('waits for an endpoint that is wrong, says so once, and ends in time when it is told to', async () => {
  const dir = box();
  const running = program(dir, { TEST_CALLS: '2', TEST_STREAM: 'no' });
  await running.said('called');
  const otlp = await receiver(() => ({ status: 401 }));
  const beside = sidecar(dir, { ORANGEBOX_ENDPOINT: otlp.url });
  await beside.said('does not take recordings');
  expect(keysOf(otlp)).toEqual([]);
  beside.child.kill('SIGTERM');
  const { code, stdout } = await beside.ended;
  expect(code).toBe(0);
  expect(stdout.match(/does not take recordings/g)).toHaveLength(1);
});

it('completes every series and sends its spans though the payload endpoint takes nothing from the first', async () => {
  const dir = box();
  const dead = [program(dir, { TEST_CALLS: '1' }), program(dir, { TEST_CALLS: '1' })];
  await Promise.all(dead.map((one) => one.said('streaming')));
  await Promise.all(dead.map((one) => one.kill()));
  let status = 503;
  const otlp = await receiver(() => ({ status }));
  const spans = await receiver();
  const beside = sidecar(dir, { ORANGEBOX_ENDPOINT: otlp.url, OTEL_EXPORTER_OTLP_ENDPOINT: spans.url });
  await spans.until(() => spans.requests.flatMap((request) => request.spans).length === 2);
  expect(keysOf(otlp)).toEqual([]);
  status = 200;
  await otlp.until(() => new Set(keysOf(otlp)).size === 4);
  beside.child.kill('SIGTERM');
  const { code, stdout } = await beside.ended;
  expect(code).toBe(0);
  expect(stdout.match(/1 call of a process that died completed/g)).toHaveLength(2);
  expect(stdout).toContain('4 payloads sent');
});

it('ships what earlier processes left when the next one starts, after its own calls', async () => {
  const dir = box();
  const dead = program(dir, { TEST_CALLS: '2', OTEL_SERVICE_NAME: 'old' });
  await dead.said('streaming');
  await dead.kill();
  const otlp = await receiver();
  const next = program(dir, {
    ORANGEBOX_ENDPOINT: otlp.url,
    OTEL_SERVICE_NAME: 'next',
    TEST_CALLS: '1',
    TEST_STREAM: 'no',
  });
  await next.said('called');
  await otlp.until(() => new Set(keysOf(otlp)).size === 4);
  expect(keysOf(otlp)).toHaveLength(4);
  const services = otlp.requests.flatMap((request) => request.spans).map(({ resource }) => resource['service.name']);
  expect(services.sort()).toEqual(['next', 'old', 'old', 'old']);
});

it('waits for a directory that is not there yet, and ends there when it is told to', async () => {
  const dir = box();
  const never = join(dirname(dir), 'never');
  const cwd = dirname(dir);
  const otlp = await receiver();
  const early = startCli(['ship', dir], { cwd, env: { ORANGEBOX_ENDPOINT: otlp.url } });
  clean.push(() => void early.child.kill('SIGKILL'));
  await early.said('waiting for a program');
  const running = program(dir, { TEST_CALLS: '2' });
  await running.said('streaming');
  await otlp.until(() => keysOf(otlp).length === 2);
  early.child.kill('SIGTERM');
  expect((await early.ended).stdout).toContain(`shipping the recordings in ${dir} to http://127.0.0.1:`);

  const idle = startCli(['ship', never], { cwd, env: { ORANGEBOX_ENDPOINT: otlp.url } });
  clean.push(() => void idle.child.kill('SIGKILL'));
  await idle.said('waiting for a program');
  idle.child.kill('SIGTERM');
  expect(await idle.ended).toMatchObject({ code: 0, stderr: '' });
  expect(cli(['ship', never, '--once', '--endpoint', otlp.url], { cwd }).code).toBe(3);
});
