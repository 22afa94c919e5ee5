/**
 * The pipeline of `deploy/compose.yaml` in containers: the recorded example agent > collector > archiver > store, and Jaeger, and the way
 * back from this machine. Without a container engine this is skipped, except in CI.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { openBucket } from '@orangebox/store';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inRepository } from '../../../helpers/repository.ts';
import { cleanEnvironment } from '../servers/index.ts';
import { findEngine } from './engine.mjs';
import { imageConfig } from './images.ts';
import type { Stack, StartedService } from './stack.ts';

const TAG = 'orangebox-lane/orangebox:local';
const ROUNDS = 3;

interface JaegerTag {
  key: string;
  value: unknown;
}
interface JaegerSpan {
  traceID: string;
  spanID: string;
  operationName: string;
  tags: JaegerTag[];
}

const engine = await findEngine();

it.runIf(process.env['CI'] === 'true')('there is a container engine in CI', () => {
  expect(engine).toBeDefined();
});

describe.skipIf(engine === undefined)('the compose file in containers', () => {
  let stack: Stack;
  let archiver: StartedService;
  let directory: string;
  let agentOutput: string;
  let bucketOutput: string;
  let spans: JaegerSpan[];
  let traces: string;

  beforeAll(async () => {
    // Loaded here: testcontainers reads the environment that findEngine prepared.
    const { buildImage, createStack } = await import('./stack.ts');
    directory = mkdtempSync(join(tmpdir(), 'orangebox-containers-'));
    stack = await createStack(TAG);
    const { start } = stack;
    await Promise.all([start('store'), start('jaeger'), buildImage(TAG).then(() => start('example-provider'))]);
    bucketOutput = await stack.run('bucket-init');
    archiver = await stack.start('archiver');
    await stack.start('collector');
    agentOutput = await stack.run('example-agent', {
      AGENT_ROUNDS: String(ROUNDS),
      AGENT_PAUSE_MS: '0',
      ORANGEBOX_EXIT_FLUSH_MS: '10000',
    });
    traces = await untilTraces();
    spans = (JSON.parse(traces) as { data: { spans: JaegerSpan[] }[] }).data.flatMap((trace) => trace.spans);
  }, 300_000);

  afterAll(async () => {
    await stack?.stop();
    if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
  }, 120_000);

  /** The agent's traces, once all its conversations are there: Jaeger has them some milliseconds after the collector's batch. */
  async function untilTraces(): Promise<string> {
    const url = `${stack.address('jaeger', 16686)}/api/traces?service=example-agent&limit=100`;
    const deadline = Date.now() + 20_000;
    for (;;) {
      const text = await (await fetch(url)).text();
      const asked = text.split('"execute_tool find_order"').length - 1;
      if (asked >= ROUNDS || Date.now() > deadline) return text;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }

  const tag = (span: JaegerSpan, key: string): unknown => span.tags.find((entry) => entry.key === key)?.value;
  const keysOf = (list: JaegerSpan[]): string[] =>
    list.flatMap((span) => (tag(span, 'orangebox.snapshot.key') as string) ?? []);

  /** Address of a span as a person copies it from the browser. */
  const pasted = (span: JaegerSpan | undefined): string =>
    `${stack.address('jaeger', 16686)}/trace/${span?.traceID}?uiFind=${span?.spanID}`;

  const commandEnv = (): Record<string, string> => ({
    ORANGEBOX_SOURCE: stack.address('jaeger', 16686),
    ORANGEBOX_STORE: `s3://${stack.env['ORANGEBOX_BUCKET']}`,
    AWS_ENDPOINT_URL_S3: stack.address('store', 8333),
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: stack.env['ORANGEBOX_S3_ACCESS_KEY'] ?? '',
    AWS_SECRET_ACCESS_KEY: stack.env['ORANGEBOX_S3_SECRET_KEY'] ?? '',
  });

  /** The command on this machine, from an empty directory, with nothing but endpoint, bucket and keys. */
  async function orangebox(...args: string[]): Promise<string> {
    const env = cleanEnvironment({ HOME: directory, ...commandEnv() });
    const cli = inRepository('packages/orangebox/dist/cli.mjs');
    const { stdout } = await promisify(execFile)(process.execPath, [cli, ...args], { cwd: directory, env });
    return stdout;
  }

  it('lets the unmodified agent say what it says without Orangebox', () => {
    expect(agentOutput.match(/Pelican Post should bring it in 2 days/g)).toHaveLength(ROUNDS);
    expect(agentOutput).not.toContain('orangebox:');
  });

  it('makes the bucket with what the store offers', () => {
    expect(bucketOutput).toContain(stack.env['ORANGEBOX_BUCKET']);
  });

  it('shows calls and tools in Jaeger, and no byte of what was said', () => {
    const names = spans.map((span) => span.operationName);
    expect(names.filter((name) => name === 'execute_tool find_order')).toHaveLength(ROUNDS);
    expect(names.filter((name) => name.startsWith('chat orange-1'))).toHaveLength(2 * ROUNDS);
    expect(traces).not.toContain('Pelican');
    expect(traces).not.toContain('orangebox.snapshot.body');
  });

  it('has every object of which a span tells in the bucket, and no other snapshot', async () => {
    const keys = new Set(keysOf(spans));
    expect(keys.size).toBe(3 * ROUNDS);
    const bucket = openBucket(commandEnv()['ORANGEBOX_STORE'] ?? '', { env: commandEnv() });
    const stored: string[] = [];
    for await (const { name } of bucket.list('v1/')) stored.push(name);
    await bucket.close();
    expect(stored.sort()).toEqual([...keys].map((key) => `${key}/snapshot.json.gz`).sort());
  });

  it('shows a call of the container on this machine, by the address pasted from Jaeger', async () => {
    const [call] = spans.filter((span) => span.operationName.startsWith('chat'));
    const shown = await orangebox('show', pasted(call), '--json');
    expect(JSON.parse(shown)).toMatchObject({ id: call?.spanID, fidelity: { level: 'exact' } });
  });

  it('replays a call of the container on this machine', async () => {
    const last = spans.findLast((span) => span.operationName.startsWith('chat'));
    expect(await orangebox('replay', pasted(last), '--via', 'fetch')).toMatch(/find_order|Pelican Post/);
  });

  it('runs the archiver as nobody, on a file system that cannot be written to', async () => {
    const script = `const fs = require('node:fs');
      const tried = ['/app/x', '/tmp/x', '/x'].map((file) => { try { fs.writeFileSync(file, ''); return 'written'; } catch (e) { return e.code; } });
      console.log(JSON.stringify([process.getuid(), process.getgid(), tried]));`;
    const { output } = await archiver.exec(['node', '-e', script]);
    const [uid, gid, tried] = JSON.parse(output) as [number, number, string[]];
    expect([uid, gid]).toEqual([1000, 1000]);
    expect(tried).toEqual(['EROFS', 'EROFS', 'EROFS']);
    expect(imageConfig(TAG)).toMatchObject({
      User: '1000:1000',
      Entrypoint: ['node', '/app/node_modules/orangebox/dist/cli.mjs'],
    });
    expect(imageConfig(TAG).Healthcheck?.Test[0]).toBe('CMD');
  });

  it('takes no payload without the token', async () => {
    const script = `fetch('http://archiver:4330/v1/traces', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' })
      .then((r) => console.log(r.status));`;
    const { output } = await archiver.exec(['node', '-e', script]);
    expect(output.trim()).toBe('401');
  });

  it('lets a program reach the collector, and not the store or the archiver', async () => {
    const names = await stack.resolves('example-provider', ['collector', 'archiver', 'store', 'jaeger']);
    expect(names).toEqual(['collector']);
  });
});
