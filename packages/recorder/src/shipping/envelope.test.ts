import { createHash, randomBytes } from 'node:crypto';
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { SEMCONV_SCHEMA_URL } from '@orangebox/schema';
import { expect, it } from 'vitest';
import { decodeSpans } from '../../../../test/helpers/otlp-receiver.mjs';
import { recorderVersion } from '../otel/version.ts';
import { encodeEnvelope, type PayloadPart } from './envelope.ts';

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

function partOf(bytes: Uint8Array): PayloadPart {
  return { bytes, index: 1, count: 300, sha256: sha256(bytes), payloadSha256: '9'.repeat(64) };
}

const item = {
  key: `v1/20260102/${'a'.repeat(32)}/${'b'.repeat(16)}/${'d'.repeat(16)}`,
  digest: 'd'.repeat(64),
  traceId: 'a'.repeat(32),
  spanId: 'b'.repeat(16),
  spanHead: {
    name: 'chat gpt-4o — naïve',
    kind: 3,
    parentSpanId: 'c'.repeat(16),
    startTimeUnixNano: '1767312000123456789',
    endTimeUnixNano: '1767312001123456789',
  },
};

/** The same twin, by OpenTelemetry's own serializer. */
function reference(part: PayloadPart): Uint8Array {
  const span = {
    name: item.spanHead.name,
    kind: 2,
    spanContext: () => ({ traceId: item.traceId, spanId: item.spanId, traceFlags: 1 }),
    parentSpanContext: { traceId: item.traceId, spanId: item.spanHead.parentSpanId, traceFlags: 1 },
    startTime: [1_767_312_000, 123_456_789],
    endTime: [1_767_312_001, 123_456_789],
    status: { code: 0 },
    attributes: {},
    links: [],
    events: [
      {
        name: 'orangebox.snapshot',
        time: [1_767_312_001, 123_456_789],
        attributes: {
          'orangebox.snapshot.encoding': 'gzip',
          'orangebox.snapshot.digest': item.digest,
          'orangebox.payload.sha256': part.payloadSha256,
          'orangebox.part.index': part.index,
          'orangebox.part.count': part.count,
          'orangebox.part.sha256': part.sha256,
          'orangebox.snapshot.body': part.bytes,
        },
      },
    ],
    resource: { attributes: { 'service.name': 'shop', 'orangebox.snapshot.key': item.key } },
    instrumentationScope: {
      name: 'orangebox',
      version: recorderVersion,
      schemaUrl: SEMCONV_SCHEMA_URL,
    },
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
  type Spans = Parameters<typeof ProtobufTraceSerializer.serializeRequest>[0];
  return ProtobufTraceSerializer.serializeRequest([span] as unknown as Spans) ?? new Uint8Array();
}

it.each([0, 1, 127, 128, 20_000, 3_000_000])(
  'reads as what OpenTelemetry itself would write, with %i bytes',
  (size) => {
    const part = partOf(randomBytes(size));
    const own = decodeSpans(Buffer.concat(encodeEnvelope(item, part, 'shop')), 'application/x-protobuf');
    const theirs = decodeSpans(Buffer.from(reference(part)), 'application/x-protobuf');
    for (const [span] of [own, theirs]) {
      const attributes = span?.events[0]?.attributes ?? {};
      expect(Buffer.from(part.bytes).equals(attributes['orangebox.snapshot.body'] as Buffer)).toBe(true);
      delete attributes['orangebox.snapshot.body'];
    }
    expect(own).toEqual(theirs);
  },
);

it('names the service of the process that recorded it, where that is another one', () => {
  const bytes = Buffer.concat(encodeEnvelope({ ...item, serviceName: 'earlier' }, partOf(randomBytes(1)), 'shop'));
  expect(decodeSpans(bytes, 'application/x-protobuf')[0]?.resource['service.name']).toBe('earlier');
});

it('does not copy the body', () => {
  const bytes = randomBytes(1000);
  const [head, body] = encodeEnvelope(item, partOf(bytes), 'shop');
  expect(body).toBe(bytes);
  expect(head.length).toBeLessThan(1024);
});
