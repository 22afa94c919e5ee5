/** Malformed requests without end, the same in every run, with a right one in between; and what they left behind. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { gzipSync } from 'node:zlib';
import { partRequest, sha256 } from '../../helpers/otlp-sender.mjs';
import { type Payload, requestOf, samplePayload } from './payloads.ts';

interface HostileRequest {
  kind: string;
  body: Buffer;
  headers?: Record<string, string>;
  method?: string;
  path?: string;
  /** Goes away after so many bytes of the body. */
  cutAfter?: number;
}

const BOMB = gzipSync(Buffer.alloc(96 * 1024 * 1024));
const PACKED_NOTHING = gzipSync(Buffer.alloc(200 * 1024 * 1024));
const JSON_TYPE = { 'content-type': 'application/json' };

/** Bytes that are the same for the same number. */
function noise(n: number, sizeBytes: number): Buffer {
  const blocks = Math.ceil(sizeBytes / 64);
  return Buffer.concat(
    Array.from({ length: blocks }, (_, i) => createHash('sha512').update(`${n} ${i}`).digest()),
    sizeBytes,
  );
}

type Maker = (n: number, victim: Payload) => HostileRequest;

const part = (kind: string, n: number, victim: Payload, key: string | undefined, changes = {}): HostileRequest => {
  const bytes = noise(n, 40 + (n % 500));
  return { kind, body: partRequest(key, { bytes, digest: victim.snapshot.digest }, changes) };
};

const KEYS: ((key: string) => string | undefined)[] = [
  () => undefined,
  () => '',
  (key) => `../../${key}`,
  (key) => key.replace('/', '/../'),
  (key) => `/${key}`,
  (key) => `${key}/snapshot.json.gz`,
  (key) => key.toUpperCase(),
  (key) => `${key}\n`,
  (key) => `${key}\0`,
  (key) => key.replace('/', '//'),
  (key) => key.replaceAll('/', '%2f'),
  (key) => `${key}${'a'.repeat(5000)}`,
];

/** Kinds by how often they come: each of the first in turn, the costly ones now and then. */
const COMMON: Maker[] = [
  (n) => ({ kind: 'noise', body: noise(n, n % 2000) }),
  (n, victim) => ({ kind: 'cut', body: requestOf(victim).subarray(0, 1 + (n % 900)) }),
  (n, victim) => {
    const body = Buffer.from(requestOf(victim));
    body.writeUInt32LE((n * 2_654_435_761) >>> 0, n % (body.length - 4));
    return { kind: 'changed bytes', body };
  },
  (n, victim) => part('bad key', n, victim, KEYS[n % KEYS.length]?.(victim.key)),
  (n, victim) => part('no gzip under a right key', n, victim, victim.key),
  (n, victim) => part('wrong hash', n, victim, victim.key, { 'orangebox.part.sha256': sha256(`${n}`) }),
  (n, victim) => part('absurd part', n, victim, victim.key, { 'orangebox.part.index': n, 'orangebox.part.count': 3 }),
  (n, victim) => part('wrong digest', n, victim, victim.key, { 'orangebox.snapshot.digest': sha256(`${n}`) }),
  (n) => ({ kind: 'broken JSON', headers: JSON_TYPE, body: Buffer.from(`{"resourceSpans":[${'['.repeat(n % 5000)}`) }),
  (n) => ({ kind: 'other type', headers: { 'content-type': 'text/html' }, body: noise(n, 100) }),
  (n) => ({ kind: 'other encoding', headers: { 'content-encoding': 'br' }, body: noise(n, 100) }),
  (n) => ({ kind: 'no gzip body', headers: { 'content-encoding': 'gzip' }, body: noise(n, 100) }),
  (n) => ({ kind: 'other path', path: `/v1/traces/../../${n}`, body: noise(n, 10) }),
  (n) => ({ kind: 'other method', method: ['PUT', 'DELETE', 'PATCH'][n % 3] ?? 'PUT', body: noise(n, 10) }),
];

const RARE: Maker[] = [
  () => ({ kind: 'gzip bomb body', headers: { 'content-encoding': 'gzip' }, body: PACKED_NOTHING }),
  (_n, victim) => ({
    kind: 'gzip bomb payload',
    body: partRequest(victim.key, { bytes: BOMB, digest: victim.snapshot.digest }),
  }),
  (n) => ({ kind: 'a megabyte of noise', body: noise(n, 1024 * 1024) }),
  () => ({ kind: 'empty messages', body: Buffer.alloc(1024 * 1024, Buffer.of(0x0a, 0)) }),
  () => ({ kind: 'empty objects', headers: JSON_TYPE, body: Buffer.from(`[${'{},'.repeat(200_000)}{}]`) }),
  () => ({ kind: 'huge header', headers: { 'x-long': 'a'.repeat(30_000) }, body: Buffer.alloc(0) }),
  (n) => ({ kind: 'gone within its body', body: noise(n, 300_000), cutAfter: 100_000 }),
];

/** Every so many requests one of the rare kinds, and a right payload. */
const RARE_EVERY = 100;
const RIGHT_EVERY = 500;
const AT_ONCE = 16;

/** What came of {@link sendHostile}. */
export interface HostileResult {
  sent: number;
  /** Answers by kind and status; `cut` where there was none. */
  answers: Record<string, Record<string, number>>;
  /** Right payloads that were sent in between and answered 200. */
  right: Payload[];
  /** Right payloads that were answered otherwise. */
  refused: number;
}

/** Sends `count` malformed requests, sixteen at a time. Many name the key of `victim`, which is stored already. */
export async function sendHostile(baseUrl: string, count: number, victim: Payload): Promise<HostileResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  const result: HostileResult = { sent: 0, answers: {}, right: [], refused: 0 };
  const work = async (): Promise<void> => {
    while (result.sent < count) {
      const n = result.sent++;
      if (n % RIGHT_EVERY === 0) {
        const payload = await samplePayload();
        if ((await sendOne(baseUrl, { kind: 'right', body: requestOf(payload) }, agent)) === '200') {
          result.right.push(payload);
        } else result.refused += 1;
        continue;
      }
      const isRare = n % RARE_EVERY === 1;
      const makers = isRare ? RARE : COMMON;
      const hostile = makers[(isRare ? Math.floor(n / RARE_EVERY) : n) % makers.length]?.(n, victim);
      if (hostile === undefined) continue;
      const status = await sendOne(baseUrl, hostile, agent);
      const byStatus = (result.answers[hostile.kind] ??= {});
      byStatus[status] = (byStatus[status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  agent.destroy();
  return result;
}

/** The status, or `cut` when the connection ended without one. */
async function sendOne(baseUrl: string, hostile: HostileRequest, agent: Agent): Promise<string> {
  const { body, headers, method = 'POST', path = '/v1/traces', cutAfter } = hostile;
  const sent = httpRequest(new URL(baseUrl), {
    method,
    path,
    agent,
    headers: { 'content-type': 'application/x-protobuf', 'content-length': body.length, ...headers },
  });
  const answered = once(sent, 'response') as Promise<[{ statusCode?: number; resume(): void; on: typeof sent.on }]>;
  if (cutAfter === undefined) sent.end(body);
  else sent.write(body.subarray(0, cutAfter), () => sent.destroy());
  try {
    const [response] = await answered;
    response.resume();
    await once(response as unknown as NodeJS.EventEmitter, 'close');
    return String(response.statusCode);
  } catch {
    return 'cut';
  }
}
