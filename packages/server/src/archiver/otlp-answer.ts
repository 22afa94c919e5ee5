/**
 * Answers of OTLP/HTTP: `ExportTraceServiceResponse` for 200, `google.rpc.Status` for all else, in the encoding of the
 * request.
 * @see https://opentelemetry.io/docs/specs/otlp/#otlphttp-response
 */

/** Encoding of a request and its answer. */
export type OtlpEncoding = 'protobuf' | 'json';

/** Codes of `google.rpc.Code` that are used here. */
export const RPC_CODE = {
  invalidArgument: 3,
  notFound: 5,
  resourceExhausted: 8,
  unimplemented: 12,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/** Content type of an encoding. */
export const CONTENT_TYPE: { readonly [encoding in OtlpEncoding]: string } = {
  protobuf: 'application/x-protobuf',
  json: 'application/json',
};

/** Body of a 200. `rejected`: spans that were not kept as what they say to be. */
export function exportResponse(encoding: OtlpEncoding, rejected?: { spans: number; message: string }): Buffer {
  if (encoding === 'json') {
    const answer = rejected
      ? { partialSuccess: { rejectedSpans: String(rejected.spans), errorMessage: rejected.message } }
      : {};
    return Buffer.from(JSON.stringify(answer));
  }
  if (rejected === undefined) return Buffer.alloc(0);
  const partial = Buffer.concat([Buffer.of(0x08), varint(rejected.spans), textField(2, rejected.message)]);
  return Buffer.concat([Buffer.of(0x0a), varint(partial.length), partial]);
}

/** Body of any other answer. */
export function statusBody(encoding: OtlpEncoding, code: number, message: string): Buffer {
  if (encoding === 'json') return Buffer.from(JSON.stringify({ code, message }));
  return Buffer.concat([Buffer.of(0x08), varint(code), textField(2, message)]);
}

function textField(field: number, text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([Buffer.of((field << 3) | 2), varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7f) {
    bytes.push((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}
