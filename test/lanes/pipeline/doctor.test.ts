/** `orangebox doctor` and `orangebox open` against a real Jaeger, a real bucket and real collectors, one of them wrong on purpose. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { snapshotDigest } from '@orangebox/codec';
import { type Snapshot, snapshotKey } from '@orangebox/schema';
import {
  type AuditReport,
  type AuditVerdict,
  encodePayload,
  type ObjectBucket,
  openTraceSource,
  sha256,
} from '@orangebox/store';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLI, cleanEnv, startCli } from '../../cli/spawn.ts';
import { startProvider } from '../../fixtures/provider/server.mjs';
import { finished } from '../../helpers/finished.ts';
import { inRepository } from '../../helpers/repository.ts';
import { callsIn, type RecordedCall } from './agent-run.ts';
import { pipeline, type Pipeline } from './pipeline.ts';
import { cleanEnvironment, type CollectorServer, type RunningServer, startCollector } from './servers/index.ts';
import { bucketOf, objectNames } from './stored-objects.ts';

const directories: string[] = [];
const started: RunningServer[] = [];
let servers: Pipeline;
let bucket: ObjectBucket;

beforeAll(async () => {
  servers = await pipeline('collector');
  bucket = bucketOf(servers);
});
afterAll(async () => {
  await bucket?.close();
  await Promise.all(started.map((server) => server.stop()));
  await servers?.stop();
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'orangebox-doctor-'));
  directories.push(directory);
  return directory;
}

/** The command with nothing but the places set, from an empty directory. */
function doctor(args: readonly string[], env: Readonly<Record<string, string>> = {}): ReturnType<typeof finished> {
  const child = spawn(process.execPath, [CLI, 'doctor', ...args], {
    cwd: newDirectory(),
    env: cleanEnv({ ...servers.cliEnv, ...env }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return finished(child);
}

/** Runs so many calls under the preload; gives what its own recordings say of them. */
async function record(count: number, env: Readonly<Record<string, string>> = {}): Promise<RecordedCall[]> {
  const directory = newDirectory();
  const provider = await startProvider();
  try {
    const args = [
      '--require',
      inRepository('packages/orangebox/dist/register.cjs'),
      inRepository('test/lanes/pipeline/fixtures/calls.mjs'),
      String(count),
    ];
    const program = spawn(process.execPath, args, {
      cwd: directory,
      env: cleanEnvironment({
        OPENAI_BASE_URL: `${provider.url}/v1`,
        ORANGEBOX_DIR: join(directory, 'recordings'),
        ORANGEBOX_EXIT_FLUSH_MS: '60000',
        OTEL_SERVICE_NAME: 'two-hundred',
        ...servers.programEnv,
        ...env,
      }),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const { code, stderr } = await finished(program);
    expect([code, stderr]).toEqual([0, '']);
    const calls = await callsIn(join(directory, 'recordings'));
    expect(calls.length).toBe(count);
    return calls;
  } finally {
    await provider.close();
  }
}

const objectOf = (key: string): string => `${key}/snapshot.json.gz`;

function signed(snapshot: Snapshot, change: Partial<Snapshot>): Snapshot {
  const { chain: _chain, ...rest } = { ...snapshot, ...change };
  return { ...rest, digest: snapshotDigest(rest, sha256) };
}

const keysOf = (report: AuditReport, verdict: AuditVerdict): string[] =>
  report.findings.filter((finding) => finding.verdict === verdict).map((finding) => finding.key);

describe('doctor --since', () => {
  it('names exactly the 5 of 200 objects that were removed, the 3 damaged, the 2 added and the 4 that were not sampled', async () => {
    const calls = await record(200);
    const dropped = await record(4, { OTEL_TRACES_SAMPLER: 'always_off' });
    const keys = calls.map(({ entry }) => entry.key as string);
    const source = await openTraceSource(servers.cliEnv['ORANGEBOX_SOURCE'] as string);
    const inJaeger = async (): Promise<number> =>
      (await source.search({ sinceUnixMs: Date.now() - 600_000 })).spans.length;
    await expect.poll(inJaeger, { timeout: 30_000 }).toBe(200);
    await expect.poll(async () => (await objectNames(bucket)).length, { timeout: 30_000 }).toBe(204);
    const clean = await doctor(['--since', '10m', '--grace', '0']);
    expect([clean.code, clean.stderr]).toEqual([0, '']);
    expect(clean.stdout).toContain('200 keys promised, 200 there and verified (100.0 %)');
    expect(clean.stdout).toContain('unsampled  4 (2.0 %)');

    const removed = keys.slice(0, 5);
    await bucket.delete(removed.map(objectOf));
    const damaged = keys.slice(5, 8);
    const [cut = '', junk = '', edited = ''] = damaged.map(objectOf);
    const whole = (await bucket.read(cut, 1e8)) as Uint8Array;
    await bucket.write(cut, whole.subarray(0, whole.length >> 1));
    await bucket.write(junk, Buffer.from('no recording'));
    await bucket.write(edited, await encodePayload({ ...(calls[7] as RecordedCall).snapshot, callSite: 'elsewhere' }));
    const { snapshot } = calls[8] as RecordedCall;
    const stranger = signed(snapshot, {
      id: 'a'.repeat(16),
      trace: { ...snapshot.trace, traceId: 'b'.repeat(32), spanId: 'a'.repeat(16) },
    });
    const misplaced = snapshotKey(snapshot).replace(/[^/]+$/, 'c'.repeat(16));
    const added = [snapshotKey(stranger), misplaced];
    await bucket.write(objectOf(snapshotKey(stranger)), await encodePayload(stranger));
    await bucket.write(objectOf(misplaced), await encodePayload(snapshot));

    const asked = await doctor(['--since', '10m', '--grace', '0', '--json']);
    expect([asked.code, asked.stderr]).toEqual([1, '']);
    const report = JSON.parse(asked.stdout) as AuditReport;
    expect(keysOf(report, 'lost')).toEqual([...removed].sort());
    expect(keysOf(report, 'corrupt')).toEqual([...damaged].sort());
    expect(keysOf(report, 'orphaned')).toEqual([...added].sort());
    expect(keysOf(report, 'unsampled')).toEqual(dropped.map(({ entry }) => entry.key as string).sort());
    expect(report.findings.length).toBe(5 + 3 + 2 + 4);
    expect(report).toMatchObject({ promised: 200, stored: 192, truncated: false });

    const tail = await doctor(['--since', '10m', '--grace', '0', '--tail-sampled', '--json']);
    const counts = (JSON.parse(tail.stdout) as AuditReport).counts;
    expect([tail.code, counts.orphaned, counts.unsampled_or_orphaned]).toEqual([1, 0, 1]);

    const plain = await doctor(['--since', '10m', '--grace', '0']);
    expect(plain.code).toBe(1);
    for (const key of [...removed, ...damaged, ...added]) expect(plain.stdout).toContain(key);
    for (const words of ['lost  5 (2.5 %)', 'corrupt  3 (1.5 %)', 'orphaned  2 (', 'unsampled  4 (']) {
      expect(plain.stdout).toContain(words);
    }
    // Without the time of grace everything that just ended may still come.
    const early = await doctor(['--since', '10m', '--json']);
    expect((JSON.parse(early.stdout) as AuditReport).counts).toMatchObject({ lost: 0, late: 5, corrupt: 3 });
  });
});

describe('doctor --canary', () => {
  const leaking = async (): Promise<CollectorServer> => {
    const collector = await startCollector(inRepository('test/lanes/pipeline/fixtures/leaking.yaml'), {
      ORANGEBOX_JAEGER_URL: servers.jaeger.otlpUrl,
      ORANGEBOX_ARCHIVER_URL: servers.archiver?.url ?? '',
    });
    started.push(collector);
    return collector;
  };

  it('passes with the shipped configuration and leaves nothing behind', async () => {
    const before = await objectNames(bucket);
    const split = await doctor(['--canary'], servers.programEnv);
    expect(split.stdout + split.stderr).toContain('nothing of the payload in');
    expect(split.code).toBe(0);
    const kept = await doctor(['--canary', '--keep', '--json'], servers.programEnv);
    const { passed, key } = JSON.parse(kept.stdout) as { passed: boolean; key: string };
    expect([kept.code, passed]).toEqual([0, true]);
    expect((await objectNames(bucket)).filter((name) => !before.includes(name))).toEqual([objectOf(key)]);
    await bucket.delete([objectOf(key)]);
  });

  it('passes with the payload on the span, where the collector takes it off', async () => {
    const inline = await pipeline('inline');
    try {
      const env = { ...inline.cliEnv, ...inline.programEnv };
      const result = await doctor(['--canary'], env);
      expect(result.stdout + result.stderr).toContain('nothing of the payload in');
      expect(result.code).toBe(0);
    } finally {
      await inline.stop();
    }
  });

  it('fails when the trace backend shows a payload, whichever way it came there', async () => {
    const collector = await leaking();
    const split = await doctor(['--canary'], {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.metadataUrl,
      ORANGEBOX_ENDPOINT: collector.payloadUrl,
    });
    expect(split.stdout).toMatch(/✗ no leak +the trace backend shows/);
    expect(split.stdout).toMatch(/✓ store/);
    expect(split.code).toBe(1);
    const inline = await doctor(['--canary', '--wait', '5s'], {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.metadataUrl,
      ORANGEBOX_TRANSPORT: 'inline',
    });
    expect(inline.stdout).toMatch(/✗ no leak +the trace backend shows/);
    expect(inline.code).toBe(1);
  });

  it('fails when the store lacks the payload, and when nobody takes it', async () => {
    const wrongPlace = await doctor(['--canary', '--wait', '4s', '--store', newDirectory()], servers.programEnv);
    expect(wrongPlace.stdout).toMatch(/✗ store +nothing under/);
    expect(wrongPlace.code).toBe(1);
    const nobody = await doctor(['--canary'], { ...servers.programEnv, ORANGEBOX_ENDPOINT: 'http://127.0.0.1:9' });
    expect(nobody.stdout).toMatch(/✗ payload +not taken: ECONNREFUSED/);
    expect(nobody.code).toBe(1);
  });

  it('takes the canaries out of the comparison', async () => {
    const report = JSON.parse((await doctor(['--since', '10m', '--json'])).stdout) as AuditReport;
    expect(report.canaries).toBeGreaterThan(0);
    expect(report.findings.filter((finding) => finding.serviceName === 'orangebox-canary')).toEqual([]);
  });
});

describe('open', () => {
  it('shows the call behind a link as the trace UIs make it, from the bucket and Jaeger alone', async () => {
    const [call] = await record(1);
    const { traceId, spanId } = (call as RecordedCall).snapshot.trace;
    const running = startCli(['open', '--port', '0', '--no-browser'], { cwd: newDirectory(), env: servers.cliEnv });
    await running.said('\n');
    const url = running.stdout().trim();
    for (const name of [spanId, call?.entry.key as string]) {
      const page = async (): Promise<string> => (await fetch(`${url}/t/${traceId}/${name}`)).text();
      await expect.poll(page, { timeout: 30_000 }).toContain('Question number 0');
    }
    running.child.kill('SIGTERM');
    expect(await running.ended).toMatchObject({ code: 0 });
  });
});
