/** Header lists out of the forms in which clients hold them. */
import type { HeaderList } from '@orangebox/schema';

/**
 * Parses a header block as it goes to the socket (request line or not, ends with CRLF or not). Whitespace around values
 * is dropped, as every receiver's parser does.
 */
export function parseHeaderText(text: string): HeaderList {
  const list: HeaderList = [];
  let at = 0;
  while (at < text.length) {
    let end = text.indexOf('\r\n', at);
    if (end < 0) end = text.length;
    // Pseudo headers of HTTP/2 begin with a colon.
    const colon = text.indexOf(':', at + 1);
    const isRequestLine = at === 0 && / HTTP\/\d(?:\.\d)?$/.test(text.slice(at, end));
    if (!isRequestLine && colon > at && colon < end) {
      list.push([text.slice(at, colon), trimOws(text.slice(colon + 1, end))]);
    }
    at = end + 2;
  }
  return list;
}

/** Turns a flat list (`rawHeaders`, Buffers or strings) or an object into pairs. */
export function headerPairs(raw: unknown): HeaderList {
  const list: HeaderList = [];
  if (Array.isArray(raw)) {
    for (let i = 0; i + 1 < raw.length; i += 2) {
      const value: unknown = raw[i + 1];
      const name = latin1(raw[i]);
      for (const one of Array.isArray(value) ? value : [value]) list.push([name, latin1(one)]);
    }
  } else if (typeof raw === 'object' && raw !== null) {
    for (const [name, value] of Object.entries(raw)) {
      for (const one of Array.isArray(value) ? value : [value]) {
        if (one !== undefined) list.push([name, latin1(one)]);
      }
    }
  }
  return list;
}

/** First value of a header, whatever its case. */
export function headerValue(list: HeaderList, name: string): string | undefined {
  for (const [key, value] of list) {
    if (key.length === name.length && key.toLowerCase() === name) return value;
  }
  return undefined;
}

function latin1(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Buffer.isBuffer(value)) return value.toString('latin1');
  return String(value);
}

function trimOws(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isOws(text.charCodeAt(start))) start++;
  while (end > start && isOws(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isOws(code: number): boolean {
  return code === 0x20 || code === 0x09;
}
