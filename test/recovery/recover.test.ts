/** What programs that were killed leave behind, shipped by `orangebox recover`: real processes, real segments. */
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { createHash } from 'node:crypto';
import { decodeBody, verifySnapshotDigest } from '@orangebox/codec';
import type { Snapshot } from '@orangebox/schema';
import { createSegmentStore } from '@orangebox/store';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type CliResult, cli, cliBeside } from '../cli/spawn.ts';
import { type Behaviour, type OtlpReceiver, startOtlpReceiver } from '../helpers/otlp-receiver.mjs';
import { type ModelServer, type RunningProgram, startModelServer, startProgram, temporaryBox } from './harness.ts';

const sha256 = (data: Uint8Array | string): string => createHash('sha256').update(data).digest('hex');

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

/** A directory in which a program was killed while an answer streamed. */
async function crashed(env: Record<string, string> = {}, dir: string = box()): Promise<string> {
  const running = program(dir, env);
  await running.said('streaming');
  await running.kill();
  return dir;
}

const to = (otlp: OtlpReceiver): Record<string, string> => ({
  ORANGEBOX_ENDPOINT: otlp.url,
  OTEL_EXPORTER_OTLP_ENDPOINT: otlp.url,
});

function recover(dir: string, env: Record<string, string>, ...more: string[]): Promise<CliResult> {
  return cliBeside(['recover', dir, '--json', ...more], { cwd: dir, env });
}

const segmentsOf = (dir: string): string[] =>
  readdirSync(join(dir, 'segments'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();

async function entriesOf(dir: string) {
  const entries = [];
  for await (const entry of createSegmentStore(dir).list({})) entries.push(entry);
  return entries;
}

it('ships the calls of a killed program whole, and the one under way as far as it came, with one span', async () => {
  const dir = await crashed({ TEST_CALLS: '3' });
  const [before] = segmentsOf(dir);
  const bytesBefore = readFileSync(before ?? '');
  const otlp = await receiver();
  const result = await recover(dir, to(otlp));
  expect([result.code, result.stderr]).toEqual([0, '']);
  expect(JSON.parse(result.stdout)).toMatchObject({ series: 1, calls: 1, sent: 4, already: 0, left: 0, spansSent: 1 });

  const payloads = otlp.payloads().map(({ snapshot }) => snapshot as Snapshot);
  expect(payloads).toHaveLength(4);
  for (const snapshot of payloads) {
    expect(verifySnapshotDigest(snapshot, sha256)).toBe(true);
    expect(JSON.stringify(snapshot)).not.toContain('sk-test-secret');
  }
  const died = payloads.find(({ fidelity }) => fidelity.level === 'partial');
  expect(died).toMatchObject({
    fidelity: { reason: 'process_died' },
    exchanges: [{ ending: 'process_died', stage: 'response_body' }],
    session: { basis: 'inferred', seq: 0 },
  });
  const body = died?.exchanges[0]?.response?.body;
  expect(body && Buffer.from(decodeBody(body)).toString()).toBe(server.streamed.at(-1));

  const spans = otlp.metadataSpans();
  expect(spans).toHaveLength(1);
  expect(spans[0]).toMatchObject({
    name: 'chat gpt-test',
    traceId: died?.trace.traceId,
    spanId: died?.trace.spanId,
    startUnixNano: died?.time.startUnixNano,
    endUnixNano: died?.time.endUnixNano,
    resource: { 'service.name': 'unknown_service:node' },
    attributes: { 'error.type': 'process_died', 'orangebox.snapshot.fidelity.reason': 'process_died' },
    status: { code: 2 },
  });
  expect(segmentsOf(dir)).toHaveLength(2);
  expect(readFileSync(before ?? '').equals(bytesBefore)).toBe(true);

  // What readers find is what was sent, and there is nothing more to do.
  const entries = await entriesOf(dir);
  expect(entries.map(({ key }) => key).sort()).toEqual(
    otlp
      .payloads()
      .map(({ key }) => key)
      .sort(),
  );
  expect(entries.every(({ shipped }) => shipped)).toBe(true);
  const again = await recover(dir, to(otlp));
  expect(JSON.parse(again.stdout)).toMatchObject({ series: 0, calls: 0, sent: 0, spansSent: 0 });
  expect(segmentsOf(dir)).toHaveLength(2);
  expect(otlp.payloads()).toHaveLength(4);
});

it('lets two recoveries at once ship once', async () => {
  const dir = await crashed({ TEST_CALLS: '8' });
  const otlp = await receiver(() => ({ delayMs: 20 }));
  const results = await Promise.all([recover(dir, to(otlp)), recover(dir, to(otlp)), recover(dir, to(otlp))]);
  const reports = results.map(({ stdout }) => JSON.parse(stdout) as { sent: number; calls: number });
  expect(results.map(({ code }) => code)).toEqual([0, 0, 0]);
  expect(reports.reduce((sum, { sent }) => sum + sent, 0)).toBe(9);
  expect(reports.reduce((sum, { calls }) => sum + calls, 0)).toBe(1);
  const sent = otlp.requests.flatMap(({ spans }) => spans).filter(({ events }) => events.length > 0);
  expect(sent).toHaveLength(9);
  expect(otlp.metadataSpans()).toHaveLength(1);
});

it('completes the segments where no endpoint is set, and says so; a later one ships them', async () => {
  const dir = await crashed();
  const result = cli(['recover', dir], { cwd: dir });
  expect(result.code).toBe(0);
  expect(result.stdout).toContain('1 call of processes that died completed');
  expect(result.stderr).toContain('2 payloads stay on this machine: no endpoint is set');
  expect(result.stderr).toContain('1 span not exported: no collector is set');
  expect((await entriesOf(dir)).map(({ key }) => key !== undefined)).toEqual([true, true]);
  const otlp = await receiver();
  expect(JSON.parse((await recover(dir, to(otlp))).stdout)).toMatchObject({ calls: 0, sent: 2, spansSent: 1 });
  expect(otlp.metadataSpans()).toHaveLength(1);
});

it('exports once the spans that a killed program had ended and not exported', async () => {
  const otlp = await receiver();
  const dir = await crashed({
    OTEL_EXPORTER_OTLP_ENDPOINT: otlp.url,
    TEST_CALLS: '2',
    OTEL_BSP_SCHEDULE_DELAY: '60000',
  });
  expect(otlp.metadataSpans()).toEqual([]);
  expect(JSON.parse((await recover(dir, to(otlp))).stdout)).toMatchObject({ spansSent: 3 });
  await recover(dir, to(otlp));
  const ids = otlp.metadataSpans().map(({ spanId }) => spanId);
  expect(ids).toHaveLength(3);
  expect(new Set(ids).size).toBe(3);
});

it('exports none of the spans that the program had exported itself', async () => {
  const otlp = await receiver();
  const dir = box();
  const running = program(dir, {
    OTEL_EXPORTER_OTLP_ENDPOINT: otlp.url,
    TEST_CALLS: '2',
    OTEL_BSP_SCHEDULE_DELAY: '10',
  });
  await running.said('streaming');
  await otlp.until(() => otlp.metadataSpans().length === 2);
  // One more call, after which what was acknowledged stands in the segment.
  running.type();
  await running.said('typed 1');
  await otlp.until(() => otlp.metadataSpans().length === 3);
  running.type();
  await running.said('typed 2');
  await running.kill();
  await recover(dir, to(otlp));
  const ids = otlp.metadataSpans().map(({ spanId }) => spanId);
  expect(new Set(ids).size).toBe(5);
  // The last one may have been acknowledged as the program was killed.
  for (const id of ids.slice(0, 3)) expect(ids.filter((other) => other === id)).toHaveLength(1);
});

it('quarantines what the endpoint refuses for good, with the reason, until somebody asks for it', async () => {
  const dir = await crashed({ TEST_CALLS: '2' });
  const otlp = await receiver(() => ({ status: 413 }));
  const refused = await recover(dir, { ORANGEBOX_ENDPOINT: otlp.url });
  expect(refused.code).toBe(1);
  expect(JSON.parse(refused.stdout)).toMatchObject({ sent: 0, refused: 3, left: 0 });
  const seen = otlp.seen;
  otlp.behave(() => ({}));
  const again = await recover(dir, { ORANGEBOX_ENDPOINT: otlp.url });
  expect([again.code, otlp.seen]).toEqual([0, seen]);
  expect(JSON.parse(again.stdout)).toMatchObject({ sent: 0, refused: 0, quarantined: 3 });
  const asked = await recover(dir, { ORANGEBOX_ENDPOINT: otlp.url }, '--retry-quarantined');
  expect(JSON.parse(asked.stdout)).toMatchObject({ sent: 3, refused: 0, quarantined: 0 });
  expect(otlp.payloads()).toHaveLength(3);
});

it('keeps what an endpoint does not take, ends in time with exit code 7, and goes on from there', async () => {
  const dir = await crashed({ TEST_CALLS: '2' });
  let taken = 0;
  const otlp = await receiver(() => (++taken > 1 ? { status: 503 } : {}));
  const cut = await recover(dir, { ORANGEBOX_ENDPOINT: otlp.url }, '--timeout', '3s');
  expect(cut.code).toBe(7);
  const { sent, left } = JSON.parse(cut.stdout) as { sent: number; left: number };
  expect(sent + left).toBe(3);
  otlp.behave(() => ({}));
  expect(JSON.parse((await recover(dir, { ORANGEBOX_ENDPOINT: otlp.url })).stdout)).toMatchObject({
    sent: left,
    left: 0,
  });
  expect(new Set(otlp.payloads().map(({ key }) => key)).size).toBe(3);
});

it('leaves a program that lives alone', async () => {
  const dir = box();
  await program(dir).said('streaming');
  const otlp = await receiver();
  expect(JSON.parse((await recover(dir, to(otlp))).stdout)).toMatchObject({ series: 0, calls: 0, sent: 0 });
  expect(segmentsOf(dir)).toHaveLength(1);
});

it('recovers what stands before a torn tail', async () => {
  const dir = await crashed({ TEST_CALLS: '2' });
  const [file = ''] = segmentsOf(dir);
  truncateSync(file, readFileSync(file).length - 5);
  const otlp = await receiver();
  const report = JSON.parse((await recover(dir, to(otlp))).stdout) as object;
  expect(report).toMatchObject({ calls: 1, sent: 3, lost: 0 });
  for (const { snapshot } of otlp.payloads()) expect(verifySnapshotDigest(snapshot as Snapshot, sha256)).toBe(true);
});

it('takes over a claim whose holder is gone, and follows no link among the claims', async () => {
  const dir = await crashed();
  const [file = ''] = segmentsOf(dir);
  const series = (file.split('/').at(-1) ?? '').replace(/-\d+\.obxs$/, '');
  const claims = join(dir, 'claims');
  mkdirSync(claims, { mode: 0o700 });
  const elsewhere = join(dir, 'elsewhere');
  writeFileSync(elsewhere, 'mine');
  symlinkSync(elsewhere, join(claims, `${series}.json`));
  symlinkSync(elsewhere, join(claims, `${series}.done.json`));
  const otlp = await receiver();
  expect(JSON.parse((await recover(dir, to(otlp))).stdout)).toMatchObject({ sent: 2 });
  expect(readFileSync(elsewhere, 'utf8')).toBe('mine');
  expect(existsSync(join(claims, `${series}.json`))).toBe(false);
});

it('does nothing to a series that somebody who lives has claimed', async () => {
  const dir = await crashed();
  const [file = ''] = segmentsOf(dir);
  const series = (file.split('/').at(-1) ?? '').replace(/-\d+\.obxs$/, '');
  mkdirSync(join(dir, 'claims'), { mode: 0o700 });
  const claim = {
    token: 'x',
    kind: 'recover',
    pid: process.pid,
    host: (series.match(/^[^-]+/) ?? [''])[0],
    threadId: 0,
  };
  writeFileSync(join(dir, 'claims', `${series}.json`), JSON.stringify(claim), { mode: 0o600 });
  const otlp = await receiver();
  expect(JSON.parse((await recover(dir, to(otlp))).stdout)).toMatchObject({ busy: 1, series: 0, sent: 0 });
  writeFileSync(join(dir, 'claims', `${series}.json`), JSON.stringify({ ...claim, pid: 4_194_305 }));
  expect(JSON.parse((await recover(dir, to(otlp))).stdout)).toMatchObject({ busy: 0, series: 1, sent: 2 });
});

it('ends with a coded error where it may not write', async () => {
  const dir = await crashed();
  // Root may write everywhere, so a file stands where the directory of claims would.
  if (process.getuid?.() === 0) writeFileSync(join(dir, 'claims'), '');
  else chmodSync(dir, 0o500);
  const otlp = await receiver();
  const result = await cliBeside(['recover', dir], { cwd: '/', env: to(otlp) });
  chmodSync(dir, 0o700);
  expect(result.code).toBe(5);
  expect(result.stderr).toContain('OBX_RECOVER_NOT_WRITABLE');
  expect(otlp.requests).toEqual([]);
});

it('comes to no harm by frames that lie about their size, and files that are none', async () => {
  const dir = await crashed();
  const [file = ''] = segmentsOf(dir);
  const lie = Buffer.alloc(64, 0xff);
  lie.writeUInt32LE(79 * 1024 * 1024, 0);
  appendFileSync(file, lie);
  writeFileSync(file.replace(/-0\.obxs$/, '-7.obxs'), 'GIF89a and more');
  const otlp = await receiver();
  const result = await recover(dir, to(otlp));
  expect([result.code, result.stderr]).toEqual([0, '']);
  expect(JSON.parse(result.stdout)).toMatchObject({ calls: 1, sent: 2 });
  expect(segmentsOf(dir).some((path) => path.endsWith('-8.obxs'))).toBe(true);
});

it('recovers a call whose sampling was not decided when the program was killed', async () => {
  const sample = JSON.stringify({ ratio: 0, rules: [{ model: 'gpt*', ratio: 1 }] });
  const dir = await crashed({ TEST_CALLS: '2', ORANGEBOX_SAMPLE: sample });
  expect(segmentsOf(dir)).toHaveLength(2);
  const otlp = await receiver();
  const report = JSON.parse((await recover(dir, to(otlp))).stdout) as object;
  expect(report).toMatchObject({ series: 2, calls: 1, sent: 3, spansSent: 1 });
  expect(new Set(otlp.payloads().map(({ key }) => key)).size).toBe(3);
});
