import { afterEach, beforeEach, expect, it } from 'vitest';
import { snapshotDigest } from '@orangebox/codec';
import { type Snapshot, snapshotKey } from '@orangebox/schema';
import { type OtlpReceiver, startOtlpReceiver } from '../../../test/helpers/otlp-receiver.mjs';
import { closedPort } from '../../../test/helpers/closed-port.ts';
import { readConfig, type RecorderConfig } from './config.ts';
import { prepareSend } from './send-once.ts';
import { sha256Hex } from './sha256.ts';

let receiver: OtlpReceiver;
beforeEach(async () => {
  receiver = await startOtlpReceiver();
});
afterEach(async () => {
  delete process.env['OTEL_EXPORTER_OTLP_ENDPOINT'];
  delete process.env['OTEL_EXPORTER_OTLP_TIMEOUT'];
  await receiver.close();
});

function snapshotOf(): Snapshot {
  const spanId = 'b'.repeat(16);
  const snapshot: Omit<Snapshot, 'digest'> = {
    schema: 'orangebox.snapshot/1',
    id: spanId,
    kind: 'llm',
    trace: { traceId: 'a'.repeat(32), spanId, sampled: true },
    session: { id: 'probe', seq: 0, basis: 'declared' },
    scope: [],
    time: { startUnixNano: '1800000000000000000', endUnixNano: '1800000000001000000' },
    exchanges: [],
    process: { pid: 1, threadId: 0, host: 'h', node: '20', orangebox: '0.1.0', serviceName: 'probe' },
    fidelity: { level: 'exact' },
    redactions: [],
  };
  return { ...snapshot, digest: snapshotDigest(snapshot as Snapshot, sha256Hex) };
}

function configOf(env: Record<string, string>): RecorderConfig {
  Object.assign(process.env, env);
  return readConfig({ ...env, OTEL_SERVICE_NAME: 'probe' }, () => undefined);
}

it('sends a span without its payload, and the payload to its own endpoint', async () => {
  const url = receiver.url;
  const snapshot = snapshotOf();
  const config = configOf({ OTEL_EXPORTER_OTLP_ENDPOINT: url, ORANGEBOX_ENDPOINT: `${url}/payload` });
  const prepared = await prepareSend(config, snapshot);
  expect(await prepared.sendSpan()).toEqual({ accepted: true });
  expect(receiver.requests.length).toBe(1);
  const [metadata] = receiver.requests;
  expect(metadata?.path).toBe('/v1/traces');
  expect(metadata?.body.includes(Buffer.from(snapshotKey(snapshot)))).toBe(true);
  expect(metadata?.body.includes(Buffer.from('orangebox.snapshot.body'))).toBe(false);
  expect(await prepared.sendPayload?.()).toEqual({ accepted: true });
  expect(receiver.requests[1]?.path).toBe('/payload/v1/traces');
  expect(receiver.requests[1]?.body.includes(Buffer.from(prepared.gzip))).toBe(true);
});

it('puts the payload on the span where the transport is inline', async () => {
  const config = configOf({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, ORANGEBOX_TRANSPORT: 'inline' });
  const prepared = await prepareSend(config, snapshotOf());
  expect(prepared.sendPayload).toBeUndefined();
  expect(await prepared.sendSpan()).toEqual({ accepted: true });
  const base64 = Buffer.from(prepared.gzip).toString('base64');
  expect(receiver.requests[0]?.body.includes(Buffer.from(base64))).toBe(true);
});

it('says what was answered, or that nothing was', async () => {
  const url = `http://127.0.0.1:${await closedPort()}`;
  const config = configOf({
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    ORANGEBOX_ENDPOINT: url,
    OTEL_EXPORTER_OTLP_TIMEOUT: '500',
  });
  const prepared = await prepareSend(config, snapshotOf());
  expect(await prepared.sendSpan()).toMatchObject({ accepted: false, reason: expect.any(String) });
  expect(await prepared.sendPayload?.()).toEqual({ accepted: false, reason: 'ECONNREFUSED' });
});
