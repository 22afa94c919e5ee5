/**
 * Frames of `application/vnd.amazon.eventstream`, for the view only (checksums are not checked: the bytes are kept as
 * they came).
 *
 * @see https://smithy.io/2.0/aws/amazon-eventstream.html
 */
import type { Json, JsonObject } from '@orangebox/schema';
import { isObject, parseJson, setMember } from './json.ts';

const PRELUDE_BYTES = 12;
const CHECKSUM_BYTES = 4;
const STRING_HEADER = 7;
/** Value sizes by header type; types 6 and 7 carry their own. */
const HEADER_SIZES: { [type: number]: number } = { 0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16 };

/** One frame: its type by the headers, and its payload as JSON. */
export interface EventFrame {
  /** `:event-type`, or `:exception-type`. */
  type: string;
  exception: boolean;
  payload: JsonObject;
}

/** The frames of a body, as far as they are whole. */
export function parseEventStream(bytes: Uint8Array): EventFrame[] {
  const frames: EventFrame[] = [];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  while (at + PRELUDE_BYTES + CHECKSUM_BYTES <= bytes.length) {
    const total = view.getUint32(at);
    const headersSize = view.getUint32(at + 4);
    const end = at + total;
    const payloadAt = at + PRELUDE_BYTES + headersSize;
    if (total < PRELUDE_BYTES + CHECKSUM_BYTES || end > bytes.length || payloadAt > end - CHECKSUM_BYTES) break;
    const headers = readHeaders(bytes.subarray(at + PRELUDE_BYTES, payloadAt));
    const text = new TextDecoder().decode(bytes.subarray(payloadAt, end - CHECKSUM_BYTES));
    const payload = parseJson(text);
    const exception = headers[':exception-type'] ?? headers[':error-code'];
    frames.push({
      type: exception ?? headers[':event-type'] ?? '',
      exception: exception !== undefined,
      payload: isObject(payload) ? innerPayload(payload) : text === '' ? {} : { message: text },
    });
    at = end;
  }
  return frames;
}

/** `invoke-with-response-stream` wraps the model's own events as base64 in `bytes`. */
function innerPayload(payload: JsonObject): JsonObject {
  const wrapped = payload['bytes'];
  if (typeof wrapped !== 'string') return payload;
  let inner: Json | undefined;
  try {
    inner = parseJson(new TextDecoder().decode(Uint8Array.from(atob(wrapped), (char) => char.charCodeAt(0))));
  } catch {
    return payload;
  }
  return isObject(inner) ? inner : payload;
}

function readHeaders(bytes: Uint8Array): { [name: string]: string } {
  const headers: JsonObject = {};
  const decoder = new TextDecoder();
  let at = 0;
  while (at < bytes.length) {
    const nameEnd = at + 1 + (bytes[at] ?? 0);
    const name = decoder.decode(bytes.subarray(at + 1, nameEnd));
    const type = bytes[nameEnd] ?? 0;
    let size = HEADER_SIZES[type];
    at = nameEnd + 1;
    if (size === undefined) {
      size = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
      at += 2;
    }
    if (type === STRING_HEADER) setMember(headers, name, decoder.decode(bytes.subarray(at, at + size)));
    at += size;
  }
  return headers as { [name: string]: string };
}
