/** `orangebox open` as a person starts it, and what a browser gets from it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBucketStore, createDirectoryBucket } from '@orangebox/store';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AgentRun, writeAgentRun } from './recordings.ts';
import { cli, type RunningCli, startCli } from './spawn.ts';

let cwd: string;
let run: AgentRun;

beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'obx-cli-open-'));
  run = writeAgentRun(join(cwd, '.orangebox'));
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

/** Starts it on a free port; gives the address that it prints. */
async function serve(...args: string[]): Promise<{ url: string; running: RunningCli }> {
  const running = startCli(['open', ...args, '--port', '0', '--no-browser'], { cwd });
  await running.said('\n');
  return { url: running.stdout().trim(), running };
}

async function stop(running: RunningCli): Promise<void> {
  running.child.kill('SIGTERM');
  expect(await running.ended).toMatchObject({ code: 0, stderr: '' });
}

describe('orangebox open', () => {
  it('prints the address of the call, and serves it and the rest of its trace until it is told to stop', async () => {
    const { url, running } = await serve(run.failed.id.slice(0, 8));
    const { traceId, spanId } = run.failed.trace;
    expect(url).toMatch(new RegExp(`^http://127\\.0\\.0\\.1:\\d+/t/${traceId}/${spanId}$`));
    const page = await fetch(url);
    expect(page.status).toBe(200);
    const text = await page.text();
    expect(text).toContain('Incorrect API key provided');
    expect(text).toContain(`orangebox show ${traceId}:${spanId}`);
    const trace = await fetch(url.slice(0, url.lastIndexOf('/')));
    expect(await trace.text()).toContain(`href="/t/${traceId}/${spanId}"`);
    await stop(running);
  });

  it('waits for links where no call is named, also where nothing is recorded yet', async () => {
    const empty = mkdtempSync(join(tmpdir(), 'obx-cli-open-empty-'));
    const running = startCli(['open', '--port', '0', '--no-browser'], { cwd: empty });
    await running.said('\n');
    const url = running.stdout().trim();
    expect(await (await fetch(url)).text()).toContain('None yet');
    expect((await fetch(`${url}/t/${'1'.repeat(32)}/${'2'.repeat(16)}`)).status).toBe(404);
    await stop(running);
    rmSync(empty, { recursive: true });
  });

  it('lists the newest calls where no call is named, of a bucket those of the last hour', async () => {
    const bucket = mkdtempSync(join(tmpdir(), 'obx-cli-open-bucket-'));
    const store = createBucketStore(createDirectoryBucket(bucket));
    await store.put(run.failed);
    await store.close();
    for (const place of [[], ['--store', `file://${bucket}`]]) {
      const { url, running } = await serve(...place);
      const { traceId, spanId } = run.failed.trace;
      expect(await (await fetch(url)).text()).toContain(`href="/t/${traceId}/${spanId}"`);
      await stop(running);
    }
    rmSync(bucket, { recursive: true });
  });

  it('carries the flags that said where to read from into the commands of the page', async () => {
    const { url, running } = await serve('last', '--dir', '.orangebox');
    expect(await (await fetch(url)).text()).toMatch(/orangebox show [0-9a-f]{32}:[0-9a-f]{16} --dir \.orangebox/);
    await stop(running);
  });

  it('ends with a hint where the reference means nothing or the port is taken', async () => {
    expect(cli(['open', 'nothing-of-this-name', '--no-browser'], { cwd })).toMatchObject({ code: 3, stdout: '' });
    const { url, running } = await serve();
    const { port } = new URL(url);
    const taken = cli(['open', '--port', port, '--no-browser'], { cwd });
    expect(taken).toMatchObject({ code: 7, stdout: '' });
    expect(taken.stderr).toContain('--port 0');
    await stop(running);
  });
});
