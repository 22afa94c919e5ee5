/** `tail`: calls as they arrive, from the recordings of a running program, from a bucket and from a trace backend. */
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBucketStore, createDirectoryBucket } from '@orangebox/store';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fakeJaeger } from './fake-jaeger.ts';
import { chatAnswer, Recording, writeAgentRun } from './recordings.ts';
import { cliOnTerminal, hasTerminal, type RunningCli, startCli } from './spawn.ts';

let base: string;
let running: RunningCli[] = [];

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'obx-cli-tail-'));
});

afterEach(async () => {
  for (const { child } of running) child.kill('SIGKILL');
  await Promise.all(running.map(({ ended }) => ended));
  running = [];
  rmSync(base, { recursive: true, force: true });
});

function start(args: string[], env: { [name: string]: string } = {}): RunningCli {
  const started = startCli(args, { cwd: base, env: { XDG_CONFIG_HOME: base, ...env } });
  running.push(started);
  return started;
}

const answer = { request: { model: 'gpt-4o-mini', messages: [] }, response: chatAnswer({ content: 'Hi' }) };

describe('tail', () => {
  it('begins with the newest calls, shows what is added, and ends with 0 at an interrupt', async () => {
    const recording = new Recording(join(base, '.orangebox'));
    const first = recording.call({ ...answer, agoMs: 30_000 });
    const segment = recording.write(recording.bytes(false));
    const tail = start(['tail', '--json']);
    await tail.said(first.id);
    // A second call, as its process would append it: all that follows the segment's own header.
    const later = new Recording(join(base, '.orangebox'));
    const headBytes = later.bytes(false).length;
    later.id(16);
    later.id(32);
    const second = later.call({ ...answer, agoMs: 2_000, tookMs: 100 });
    appendFileSync(segment, later.bytes(false).subarray(headBytes));
    await tail.said(second.id);
    tail.child.kill('SIGINT');
    const result = await tail.ended;
    expect(result).toMatchObject({ code: 0, stderr: '' });
    const lines = result.stdout.trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { trace: { spanId: string } }).trace.spanId)).toEqual([
      first.id,
      second.id,
    ]);
  });

  it('waits for the first recordings of a directory', async () => {
    const tail = start(['tail']);
    const recording = new Recording(join(base, '.orangebox'));
    const call = recording.call({ ...answer, agoMs: 1_000, tookMs: 10 });
    recording.write();
    await tail.said(call.id.slice(0, 6));
    tail.child.kill('SIGINT');
    expect(await tail.ended).toMatchObject({ code: 0, stderr: '' });
  });

  it('takes the filters of ls and the number of earlier calls', async () => {
    const run = writeAgentRun(join(base, '.orangebox'));
    const tail = start(['tail', '-n', '1', '--model', 'gpt-4o-mini', '--kind', 'llm']);
    await tail.said('\n');
    tail.child.kill('SIGTERM');
    const { stdout, code } = await tail.ended;
    expect(code).toBe(0);
    expect(stdout.trimEnd().split('\n')).toHaveLength(1);
    expect(stdout).toContain(run.streamed.id.slice(0, 6));
  });

  it('shows what arrives in a bucket, once', async () => {
    const run = writeAgentRun(join(base, 'elsewhere'));
    const place = join(base, 'bucket');
    const put = async (call: typeof run.first): Promise<void> => {
      const store = createBucketStore(createDirectoryBucket(place));
      await store.put(call);
      await store.close();
    };
    await put(run.first);
    const tail = start(['tail', '--store', `file://${place}`]);
    await tail.said(run.first.id.slice(0, 12));
    await put(run.failed);
    await tail.said(run.failed.id.slice(0, 12));
    tail.child.kill('SIGINT');
    const { stdout, code } = await tail.ended;
    expect(code).toBe(0);
    expect(stdout.trimEnd().split('\n')).toHaveLength(2);
  });

  it('shows what a trace backend comes to know, and goes on when it did not answer for a while', async () => {
    const run = writeAgentRun(join(base, 'elsewhere'));
    const jaeger = await fakeJaeger([run.first]);
    const tail = start(['tail', '--source', jaeger.url]);
    await tail.said(run.first.id.slice(0, 6));
    jaeger.calls.push(run.failed);
    await tail.said(run.failed.id.slice(0, 6));
    await jaeger.stop();
    await expect.poll(() => tail.stderr(), { timeout: 15_000 }).toContain('trying again');
    tail.child.kill('SIGINT');
    expect(await tail.ended).toMatchObject({ code: 0 });
  });

  it('shows what a backend promises as stored where the bucket has it, once, and as promised where it has not', async () => {
    const run = writeAgentRun(join(base, 'elsewhere'));
    const place = join(base, 'bucket');
    const put = async (call: typeof run.first): Promise<void> => {
      const store = createBucketStore(createDirectoryBucket(place));
      await store.put(call);
      await store.close();
    };
    await put(run.first);
    const jaeger = await fakeJaeger([run.first]);
    const tail = start(['tail', '--source', jaeger.url, '--store', `file://${place}`]);
    await tail.said(run.first.id.slice(0, 6));
    jaeger.calls.push(run.failed, run.streamed);
    // The backend has told of both before the bucket has one.
    const asked = jaeger.asked.length;
    await expect.poll(() => jaeger.asked.length, { timeout: 15_000 }).toBeGreaterThan(asked + 1);
    expect(tail.stdout()).not.toContain(run.failed.id.slice(0, 6));
    await put(run.failed);
    await tail.said(run.streamed.id.slice(0, 6));
    tail.child.kill('SIGINT');
    const { code, stdout } = await tail.ended;
    await jaeger.stop();
    expect(code).toBe(0);
    const lines = stdout.trimEnd().split('\n');
    const keptOf = ({ id }: typeof run.first): string[] =>
      lines.filter((line) => line.startsWith(id.slice(0, 6))).map((line) => line.split('\t').at(-1) ?? '');
    expect([run.first, run.failed, run.streamed].map(keptOf)).toEqual([['exact'], ['exact'], ['promised']]);
    expect(lines).toHaveLength(3);
  });

  it.skipIf(!hasTerminal)(
    'says on a terminal what it follows, before the first call and without a directory that is not there',
    async () => {
      const run = writeAgentRun(join(base, 'elsewhere'));
      const store = createBucketStore(createDirectoryBucket(join(base, 'bucket')));
      await store.put(run.first);
      await store.close();
      const env = { XDG_CONFIG_HOME: base, ORANGEBOX_STORE: `file://${join(base, 'bucket')}`, NO_COLOR: '1' };
      const typed = { stdin: '\u0003', typedAt: run.first.id.slice(0, 6) };
      const { stdout } = await cliOnTerminal(['tail'], { cwd: base, env, ...typed });
      expect(stdout).toMatch(new RegExp(`^following .*bucket; Ctrl-C ends it\n[^]*${run.first.id.slice(0, 6)}`));
      expect(stdout).not.toContain('.orangebox');
    },
  );

  it('says at once that a source cannot be asked at all', async () => {
    const tail = start(['tail', '--source', 'http://127.0.0.1:9']);
    expect(await tail.ended).toMatchObject({ code: 7, stdout: '' });
  });

  it('ends quietly when its reader goes away', async () => {
    writeAgentRun(join(base, '.orangebox'));
    const tail = start(['tail']);
    tail.child.stdout?.once('data', () => tail.child.stdout?.destroy());
    const recording = new Recording(join(base, '.orangebox'));
    // Ids are counted: these calls are others than those of the run.
    for (let i = 0; i < 20; i++) recording.id(16);
    await tail.said('\n');
    recording.call({ ...answer, agoMs: 1_000, tookMs: 10 });
    recording.write();
    expect(await tail.ended).toMatchObject({ code: 0, stderr: '' });
  });
});
