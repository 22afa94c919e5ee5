/** Must not fail quietly: 200 planted secrets, and none of them in anything that Orangebox writes, sends or prints. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { SegmentRecord } from '@orangebox/schema';
import { decodeSegment, SECRET_TOKEN_PATTERN } from '@orangebox/codec';
import { rehydrate } from '@orangebox/replay';
import { openStore } from '@orangebox/store';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Finished, finished } from './helpers/finished.ts';
import { type OtlpReceiver, startOtlpReceiver } from './helpers/otlp-receiver.mjs';
import { makePlacements, type Placement, REDACT_PATTERN, tracesOf } from './secrets/placements.mjs';
import { startSecretsServer } from './secrets/server.mjs';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const register = here('../packages/orangebox/dist/register.cjs');
const cli = here('../packages/orangebox/dist/cli.mjs');

const work = mkdtempSync(join(tmpdir(), 'orangebox-secrets-'));
const dir = join(work, 'recordings');
const receivedFile = join(work, 'received.json');
const placements = makePlacements();
let receiver: OtlpReceiver;
let program: Finished;
const outputs = new Map<string, Buffer>();

function run(args: string[], env: Record<string, string | undefined>): Promise<Finished> {
  const child = spawn(process.execPath, args, { cwd: work, env, stdio: ['ignore', 'pipe', 'pipe'] });
  return finished(child);
}

/** Every file below the recordings, and beside it every body that the frames give when they are decoded. */
function gatherFiles(base: string): void {
  for (const entry of readdirSync(base, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const bytes = readFileSync(join(entry.parentPath, entry.name));
    outputs.set(`file ${entry.name}`, bytes);
    if (!entry.name.endsWith('.obxs')) continue;
    const bodies = new Map<string, Uint8Array[]>();
    for (const { record } of decodeSegment(bytes) as Iterable<{ record: SegmentRecord }>) {
      if (record.type !== 'requestChunk' && record.type !== 'responseChunk') continue;
      const name = `body ${record.type} of exchange ${record.exchangeId}`;
      bodies.set(name, [...(bodies.get(name) ?? []), Uint8Array.from(record.bytes)]);
    }
    for (const [name, chunks] of bodies) outputs.set(name, Buffer.concat(chunks));
  }
}

beforeAll(async () => {
  const server = await startSecretsServer(placements);
  receiver = await startOtlpReceiver();
  const list = join(work, 'placements.json');
  const gone = await startSecretsServer(placements);
  gone.close();
  writeFileSync(list, JSON.stringify({ placements, origin: server.url, refusedOrigin: gone.url }));
  const planted = Object.fromEntries(placements.filter((p) => p.env).map((p) => [p.env, p.value]));
  const env = {
    PATH: process.env['PATH'],
    ...planted,
    ORANGEBOX_DIR: dir,
    ORANGEBOX_ENDPOINT: receiver.url,
    ORANGEBOX_REDACT: REDACT_PATTERN,
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true',
  };
  program = await run(['--require', register, here('secrets/program.mjs'), list, receivedFile], env);
  server.close();
  gatherFiles(dir);
  outputs.set('stderr of the program', Buffer.from(program.stderr));
  outputs.set('stdout of the program', Buffer.from(program.stdout));
  outputs.set('metadata spans', Buffer.from(JSON.stringify(receiver.metadataSpans())));
  for (const payload of receiver.payloads()) outputs.set(`payload ${payload.key}`, payload.json ?? Buffer.alloc(0));
  for (const command of [['ls', '--json', '-n', '1000'], ['doctor']]) {
    const shown = await run([cli, ...command], { PATH: process.env['PATH'], ORANGEBOX_DIR: dir });
    outputs.set(`orangebox ${command.join(' ')}`, Buffer.from(shown.stdout + shown.stderr));
  }
}, 120_000);

afterAll(async () => {
  await receiver?.close();
  rmSync(work, { recursive: true, force: true });
});

test('two hundred secrets are planted and the program carries every one of them', () => {
  expect(placements).toHaveLength(200);
  expect(program).toMatchObject({ code: 0, stderr: '' });
});

test('something was recorded and sent for each of them, so that the search below means something', () => {
  const segments = [...outputs].filter(([name]) => name.endsWith('.obxs'));
  expect(segments.length).toBeGreaterThan(0);
  expect(receiver.payloads().length).toBeGreaterThanOrEqual(200);
  expect(receiver.metadataSpans().length).toBeGreaterThanOrEqual(200);
});

test('no planted secret is in any file, body, span, payload, listing or message', () => {
  const found: string[] = [];
  for (const placement of placements) {
    for (const [name, bytes] of outputs) {
      const trace = tracesOf(placement.value).find((text) => bytes.includes(text));
      if (trace !== undefined) found.push(`${describePlacement(placement)} in ${name}`);
    }
  }
  expect(found).toEqual([]);
});

test('streamed answers that spell a secret letter by letter do not spell it in a span or a view either', () => {
  const spelled = placements.filter((p) => p.kind === 'sse-deltas');
  const texts = [outputs.get('metadata spans') ?? Buffer.alloc(0)];
  expect(spelled.length).toBeGreaterThan(0);
  for (const p of spelled) for (const text of texts) expect(text.includes(p.value)).toBe(false);
});

test('replay gives every answer byte for byte, but for the secrets in it', async () => {
  const received = JSON.parse(readFileSync(receivedFile, 'utf8')) as Record<string, string>;
  const store = await openStore(dir);
  let compared = 0;
  for await (const entry of store.list({ kinds: ['llm'] })) {
    const call = await rehydrate(await store.load(entry));
    const n = call.snapshot.exchanges[0]?.request.headers.find(([name]) => name === 'x-drill')?.[1] ?? '';
    if (received[n] === undefined) continue;
    const replayed = Buffer.from(await call.response().arrayBuffer()).toString('latin1');
    const original = Buffer.from(received[n], 'base64').toString('latin1');
    const pieces = replayed.split(new RegExp(SECRET_TOKEN_PATTERN.source, 'g'));
    const pattern = pieces.map((piece) => piece.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('([^]{8,400}?)');
    expect(original, describePlacement(placements[Number(n)] as Placement)).toMatch(new RegExp(`^${pattern}$`));
    compared += 1;
  }
  await store.close();
  expect(compared).toBe(Object.keys(received).length);
  expect(compared).toBeGreaterThan(180);
});

function describePlacement({ n, value: _, ...rest }: Placement): string {
  return `${n} ${JSON.stringify(rest)}`;
}
