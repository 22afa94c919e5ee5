/**
 * One finished recording sent as the recorder sends them, and what was answered: for tools that try a configuration out.
 * The recorder itself never waits for answers like this.
 */
import { ATTR, GEN_AI, HTTP_ATTR, type Snapshot, snapshotKey } from '@orangebox/schema';
import type { RecorderConfig } from './config.ts';
import type { FinishedSpan } from './otel/finished-span.ts';
import { recorderVersion } from './otel/version.ts';
import { payloadEvent } from './payload-on-span.ts';
import { compressSnapshot, partsOf, type Payload } from './shipping/parts.ts';
import { createTransport } from './shipping/transport.ts';

/** What became of a request. */
export interface SendAnswer {
  accepted: boolean;
  /** Why not, in words; never holds credentials. */
  reason?: string;
}

/** What {@link prepareSend} makes. */
export interface PreparedSend {
  /** The gzip that is sent. */
  gzip: Uint8Array;
  /** Sends the span with its metadata; in the inline transport the payload is on it. */
  sendSpan(): Promise<SendAnswer>;
  /** Sends the payload to its endpoint; undefined in the inline transport. */
  sendPayload: (() => Promise<SendAnswer>) | undefined;
}

/** Milliseconds of silence after which a request is given up. */
const TIMEOUT_MS = 20_000;

/** See `prepare-send.ts`. */
export async function prepareSend(config: RecorderConfig, snapshot: Snapshot): Promise<PreparedSend> {
  const json = Buffer.from(JSON.stringify(snapshot));
  const payload = await compressSnapshot(json);
  const isInline = config.mode === 'inline';
  const span = spanOf(snapshot, json.length);
  if (isInline) span.event = payloadEvent(snapshot.digest, payload.gzip, payload.sha256);
  const { endpoint } = config;
  return {
    gzip: payload.gzip,
    sendSpan: async () => (await import('./otel/sdk-provider.ts')).exportOnce(span, config, recorderVersion),
    sendPayload:
      isInline || endpoint === undefined
        ? undefined
        : () => keptAlive(sendParts(new URL(`${endpoint}/v1/traces`), config, snapshot, span, payload)),
  };
}

/** The recorder's sockets never keep a program alive; here somebody waits for the answer. */
async function keptAlive<T>(work: Promise<T>): Promise<T> {
  const alive = setInterval(() => undefined, TIMEOUT_MS);
  try {
    return await work;
  } finally {
    clearInterval(alive);
  }
}

function spanOf(snapshot: Snapshot, sizeBytes: number): FinishedSpan {
  const { session, trace, time, fidelity, exchanges } = snapshot;
  return {
    name: 'chat',
    kind: 'client',
    trace,
    startUnixNano: BigInt(time.startUnixNano),
    endUnixNano: BigInt(time.endUnixNano),
    status: { code: 'unset' },
    attributes: {
      [GEN_AI.operationName]: 'chat',
      ...(session ? { [GEN_AI.conversationId]: session.id } : {}),
      [ATTR.snapshotKey]: snapshotKey(snapshot),
      [ATTR.snapshotDigest]: snapshot.digest,
      [ATTR.snapshotSize]: sizeBytes,
      [ATTR.snapshotFidelity]: fidelity.level,
      ...(session
        ? { [ATTR.sessionId]: session.id, [ATTR.sessionSeq]: session.seq, [ATTR.sessionBasis]: session.basis }
        : {}),
      [HTTP_ATTR.requestMethod]: exchanges[0]?.request.method ?? 'POST',
    },
  };
}

async function sendParts(
  url: URL,
  config: RecorderConfig,
  snapshot: Snapshot,
  span: FinishedSpan,
  payload: Payload,
): Promise<SendAnswer> {
  const { encodeEnvelope, rejectedSpans } = await import('./shipping/envelope.ts');
  const transport = createTransport(url, config.endpointHeaders, TIMEOUT_MS);
  const { traceId, spanId } = snapshot.trace;
  const spanHead = {
    name: span.name,
    kind: 3,
    startTimeUnixNano: snapshot.time.startUnixNano,
    endTimeUnixNano: snapshot.time.endUnixNano,
  };
  const item = { key: snapshotKey(snapshot), digest: snapshot.digest, traceId, spanId, spanHead };
  for await (const part of partsOf(payload, () => true)) {
    const outcome = await transport.send(encodeEnvelope(item, part, config.serviceName));
    if (outcome.kind === 'abandoned') return { accepted: false, reason: 'given up' };
    if (outcome.kind !== 'accepted') return { accepted: false, reason: outcome.reason };
    const rejected = rejectedSpans(outcome.answer);
    if (rejected) return { accepted: false, reason: `refused: ${rejected.message || 'without a reason'}` };
  }
  return { accepted: true };
}
