/** The recording of a call that never was, with a text in it that stands nowhere else. */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { snapshotDigest } from '@orangebox/codec';
import { type Body, SNAPSHOT_SCHEMA, type Snapshot } from '@orangebox/schema';
import { CANARY_NAME, sha256 } from '@orangebox/store';
import { VERSION } from '../version.ts';

/** A canary: the snapshot, and the text that marks its bodies. */
export interface Canary {
  snapshot: Snapshot;
  /** Stands in the request's and the response's body, and in nothing else. */
  marker: string;
}

/** Makes one of now. */
export function makeCanary(nowMs: number): Canary {
  const marker = `canary-${randomBytes(16).toString('hex')}`;
  const traceId = randomBytes(16).toString('hex');
  const spanId = randomBytes(8).toString('hex');
  const startUnixNano = `${Math.floor(nowMs)}000000`;
  const request = bodyOf({ model: CANARY_NAME, messages: [{ role: 'user', content: `Say ${marker}.` }] });
  const response = bodyOf({
    model: CANARY_NAME,
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: marker } }],
  });
  const unsigned: Omit<Snapshot, 'digest'> = {
    schema: SNAPSHOT_SCHEMA,
    id: spanId,
    kind: 'llm',
    trace: { traceId, spanId, sampled: true },
    session: { id: CANARY_NAME, seq: 0, basis: 'declared' },
    scope: [],
    time: { startUnixNano, endUnixNano: `${Math.floor(nowMs)}001000` },
    exchanges: [
      {
        attempt: 0,
        startUnixNano,
        endOffsetNano: '1000',
        client: 'undici',
        request: {
          method: 'POST',
          url: 'https://canary.invalid/v1/chat/completions',
          headers: [['content-type', 'application/json']],
          body: request,
          chunks: [{ sizeBytes: request.sizeBytes, offsetNano: '100' }],
          sent: true,
        },
        response: {
          status: 200,
          statusText: 'OK',
          headers: [['content-type', 'application/json']],
          headOffsetNano: '500',
          headDelivery: 1,
          body: response,
          chunks: [{ sizeBytes: response.sizeBytes, offsetNano: '600', delivery: 2 }],
        },
        ending: 'complete',
        stage: 'done',
      },
    ],
    process: {
      pid: process.pid,
      threadId: 0,
      host: hostname(),
      node: process.versions.node,
      orangebox: VERSION,
      serviceName: CANARY_NAME,
    },
    fidelity: { level: 'exact' },
    redactions: [],
  };
  const digest = snapshotDigest(unsigned, sha256);
  return { snapshot: { ...unsigned, digest }, marker };
}

function bodyOf(json: object): Body {
  const text = JSON.stringify(json);
  return { form: 'text', sizeBytes: Buffer.byteLength(text), text };
}
