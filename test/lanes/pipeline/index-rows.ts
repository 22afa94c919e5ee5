/** Index objects of many made-up calls in a bucket, and how long one session among them takes to find. */
import { randomBytes } from 'node:crypto';
import { indexMinute, indexObjectName, type IndexRow, snapshotKey } from '@orangebox/schema';
import { createBucketStore, encodeIndexRows, type ObjectBucket, openBucket } from '@orangebox/store';

const MINUTES = 24 * 60;
const MINUTE_MS = 60_000;

/** The session that is looked for, and how many calls it has. */
export const WANTED_SESSION = 'the-session-that-is-looked-for';
export const WANTED_CALLS = 12;

/** Writes rows spread over the 24 hours before `untilUnixMs`, one object per minute and writer; among them the wanted session. */
export async function writeRows(
  bucket: ObjectBucket,
  { rows, untilUnixMs, writers = 1 }: { rows: number; untilUnixMs: number; writers?: number },
): Promise<{ objects: number; packedBytes: number }> {
  const objects = MINUTES * writers;
  let packedBytes = 0;
  let made = 0;
  const underWay = new Set<Promise<void>>();
  for (let i = 0; i < objects; i += 1) {
    const minuteStart = untilUnixMs - MINUTES * MINUTE_MS + Math.floor(i / writers) * MINUTE_MS;
    const share = Math.floor((rows * (i + 1)) / objects) - made;
    made += share;
    const of = Array.from({ length: share }, () => madeUpRow(minuteStart + Math.random() * MINUTE_MS));
    // The session goes on over the day.
    if (i % Math.floor(objects / WANTED_CALLS) === 0 && of[0]) {
      of[0] = { ...of[0], session: { id: WANTED_SESSION, seq: 0, basis: 'declared' } };
    }
    const name = indexObjectName({ ...indexMinute(minuteStart), writer: `w${i % writers}`, generation: 0 });
    const write = encodeIndexRows(of).then(async (bytes) => {
      packedBytes += bytes.length;
      await bucket.write(name, bytes);
    });
    underWay.add(write);
    void write.finally(() => underWay.delete(write)).catch(() => {});
    if (underWay.size >= 8) await Promise.race(underWay);
  }
  await Promise.all(underWay);
  return { objects, packedBytes };
}

/** Lists the wanted session as `orangebox ls --session … --since 25h` does, with a new connection. */
export async function findSession(
  url: string,
  env: Readonly<Record<string, string>>,
  sinceUnixMs: number,
): Promise<{ found: number; ms: number; readBytes: number; requests: number }> {
  const inner = openBucket(url, { env });
  let readBytes = 0;
  let requests = 0;
  const count = (bytes: Uint8Array | undefined): Uint8Array | undefined => {
    readBytes += bytes?.length ?? 0;
    requests += 1;
    return bytes;
  };
  const counted: ObjectBucket = {
    kind: inner.kind,
    location: inner.location,
    read: async (name, maxBytes) => count(await inner.read(name, maxBytes)),
    readStart: async (name, sizeBytes) => count(await inner.readStart?.(name, sizeBytes)),
    stat: (name) => inner.stat(name),
    write: (...args) => inner.write(...args),
    list: (...args) => inner.list(...args),
    prefixes: (prefix) => inner.prefixes(prefix),
    delete: (names) => inner.delete(names),
    check: () => inner.check(),
    close: () => inner.close(),
  };
  const store = createBucketStore(counted);
  const started = performance.now();
  let found = 0;
  for await (const entry of store.list({ sessionId: WANTED_SESSION, sinceUnixMs })) {
    if (entry.session?.id === WANTED_SESSION) found += 1;
  }
  const ms = performance.now() - started;
  await store.close();
  return { found, ms, readBytes, requests };
}

/** A row as a call of an agent leaves it: what differs between calls differs here too, so that it packs as real ones do. */
function madeUpRow(startMs: number): IndexRow {
  const start = BigInt(Math.floor(startMs)) * 1_000_000n + BigInt(Math.floor(Math.random() * 1e6));
  const hex = (bytes: number): string => randomBytes(bytes).toString('hex');
  const spanId = hex(8);
  const row = {
    kind: 'llm' as const,
    trace: { traceId: hex(16), spanId, parentSpanId: hex(8), sampled: true },
    session: { id: hex(16), seq: Math.floor(Math.random() * 40), basis: 'inferred' as const },
    scope: [{ kind: 'agent' as const, name: `agent-${Math.floor(Math.random() * 20)}`, id: '1' }],
    time: { startUnixNano: String(start), endUnixNano: String(start + BigInt(Math.floor(Math.random() * 4e9))) },
    summary: {
      ending: 'complete' as const,
      attempts: 1,
      stream: true,
      status: 200,
      timeToFirstChunkNano: String(Math.floor(Math.random() * 1e9)),
      operation: 'chat',
      provider: 'openai',
      api: 'openai.chat',
      model: ['gpt-4o', 'gpt-4o-mini', 'gpt-4.1'][Math.floor(Math.random() * 3)] as string,
      inputTokens: Math.floor(Math.random() * 9000),
      outputTokens: Math.floor(Math.random() * 900),
      toolCalls: [{ id: `call_${hex(12)}`, name: 'search_documents' }],
      finishReasons: ['tool_calls'],
    },
    fidelity: { level: 'exact' as const },
    sizeBytes: Math.floor(Math.random() * 60_000),
    digest: hex(32),
    chain: { before: hex(32), after: hex(32) },
    process: {
      pid: 1 + Math.floor(Math.random() * 3),
      threadId: 0,
      host: 'agent-7f9c4d',
      serviceName: 'support-agent',
    },
    request: { method: 'POST', url: 'https://api.openai.com/v1/chat/completions' },
  };
  return { key: snapshotKey(row), ...row };
}
