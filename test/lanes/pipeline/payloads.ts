/** Payloads without a program: small snapshots with right keys, sent as the recorder sends them. */
import { randomBytes } from 'node:crypto';
import { buildCallSnapshot, collectRecords } from '@orangebox/codec';
import { type Snapshot, snapshotKey } from '@orangebox/schema';
import { encodePayload, sha256 } from '@orangebox/store';
import { sampleRecords } from '../../../packages/codec/src/testing/sample-records.ts';
import { partRequest } from '../../helpers/otlp-sender.mjs';

/** A snapshot with its key and gzip. */
export interface Payload {
  snapshot: Snapshot;
  key: string;
  bytes: Buffer;
}

/** A new call, unlike any other in its ids. */
export async function samplePayload(): Promise<Payload> {
  const { process, exchanges, calls } = collectRecords(sampleRecords());
  const call = calls[0];
  if (!call || !process) throw new Error('the sample has no call');
  const trace = { ...call.trace, traceId: randomBytes(16).toString('hex'), spanId: randomBytes(8).toString('hex') };
  const snapshot = buildCallSnapshot(
    {
      call: { ...call, trace },
      exchanges: call.exchangeIds.flatMap((id) => exchanges.get(id) ?? []),
      process,
    },
    sha256,
  );
  return { snapshot, key: snapshotKey(snapshot), bytes: await encodePayload(snapshot) };
}

/** The request that carries it whole. */
export const requestOf = (payload: Payload): Buffer => requestWithKey(payload, payload.key);

/** The same under another key, or under none. */
export const requestWithKey = ({ bytes, snapshot }: Payload, key: string | undefined): Buffer =>
  partRequest(key, { bytes, digest: snapshot.digest });

/** The answer to an OTLP/HTTP request, and how long it took. */
export interface Sent {
  status: number;
  text: string;
  retryAfter: string | null;
  tookMs: number;
}

/** Sends an OTLP/HTTP request of protobuf. */
export async function send(baseUrl: string, body: Uint8Array, headers: Record<string, string> = {}): Promise<Sent> {
  const startMs = performance.now();
  const response = await fetch(`${baseUrl}/v1/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-protobuf', ...headers },
    body: new Uint8Array(body),
  });
  const text = await response.text();
  const retryAfter = response.headers.get('retry-after');
  return { status: response.status, text, retryAfter, tookMs: performance.now() - startMs };
}
