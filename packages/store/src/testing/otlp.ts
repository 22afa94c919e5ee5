/** Makes OTLP protobuf envelopes for tests, as a collector writes them. Not part of the package's surface. */
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

/** A payload part to put into an envelope. */
export interface TestPart {
  key: string;
  body: Uint8Array | string;
  index?: number;
  count?: number;
  payloadSha256?: string;
  partSha256?: string;
  /** Puts the key on the span instead of the resource. */
  keyOnSpan?: boolean;
}

const message = (writer: BinaryWriter, field: number, bytes: Uint8Array): BinaryWriter =>
  writer.tag(field, WireType.LengthDelimited).bytes(bytes);

function keyValue(key: string, value: string | number | Uint8Array): Uint8Array {
  const any = new BinaryWriter();
  if (typeof value === 'string') any.tag(1, WireType.LengthDelimited).string(value);
  else if (typeof value === 'number') any.tag(3, WireType.Varint).int64(value);
  else any.tag(7, WireType.LengthDelimited).bytes(value);
  return message(new BinaryWriter().tag(1, WireType.LengthDelimited).string(key), 2, any.finish()).finish();
}

/** A `TracesData` with one resource per part. */
export function envelope(...parts: TestPart[]): Uint8Array {
  const traces = new BinaryWriter();
  for (const part of parts) {
    const event = new BinaryWriter()
      .tag(1, WireType.Bit64)
      .fixed64(1n)
      .tag(2, WireType.LengthDelimited)
      .string('orangebox.snapshot');
    const attributes: [string, string | number | Uint8Array | undefined][] = [
      ['orangebox.snapshot.encoding', 'gzip'],
      ['orangebox.snapshot.body', part.body],
      ['orangebox.part.index', part.index],
      ['orangebox.part.count', part.count],
      ['orangebox.payload.sha256', part.payloadSha256],
      ['orangebox.part.sha256', part.partSha256],
    ];
    for (const [key, value] of attributes) if (value !== undefined) message(event, 3, keyValue(key, value));
    const key = keyValue('orangebox.snapshot.key', part.key);
    const span = new BinaryWriter().tag(5, WireType.LengthDelimited).string('payload');
    if (part.keyOnSpan) message(span, 9, key);
    message(span, 11, event.finish());
    const scope = message(new BinaryWriter(), 2, span.finish()).finish();
    const resource = part.keyOnSpan ? new Uint8Array() : message(new BinaryWriter(), 1, key).finish();
    message(traces, 1, message(message(new BinaryWriter(), 1, resource), 2, scope).finish());
  }
  return traces.finish();
}

/** Frames with a 4-byte big-endian length, as the `file` exporter writes them. */
export function framed(...messages: Uint8Array[]): Buffer {
  return Buffer.concat(
    messages.flatMap((bytes) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(bytes.length);
      return [length, bytes];
    }),
  );
}
