/** Multipart forms as values: parts in order, each its head and what is in it. */
import { utf8Text } from '@orangebox/codec';
import { JsonMembers, type LosslessJson, parseLossless } from './lossless-json.ts';

/** The boundary that a content type names. */
export function boundaryOf(contentType: string): string | undefined {
  if (!/^multipart\//i.test(contentType)) return undefined;
  const found = /;\s*boundary=(?:"([^"]{1,200})"|([^;"\s]{1,200}))/i.exec(contentType);
  return found?.[1] ?? found?.[2];
}

/**
 * A multipart body as a list of parts, the boundary gone; undefined where it has no part. A part that is no UTF-8 text
 * is its bytes as characters (Latin-1), marked so: text of the same characters is other bytes.
 */
export function multipartForm(bytes: Uint8Array, boundary: string): LosslessJson | undefined {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  const [before = '', ...rest] = `\r\n${whole}`.split(`\r\n--${Buffer.from(boundary).toString('latin1')}`);
  if (rest.length === 0) return undefined;
  const last = rest.findIndex((part) => part.startsWith('--'));
  const parts = last < 0 ? rest : rest.slice(0, last);
  const after = last < 0 ? [] : rest.slice(last);
  return new JsonMembers(
    ['before', 'parts', 'after'],
    [before.replace(/^\r\n/, ''), parts.map(partOf), after.map((text) => text.slice(2))],
  );
}

function partOf(text: string): LosslessJson {
  const end = text.indexOf('\r\n\r\n');
  const head = end < 0 ? text : text.slice(0, end);
  return new JsonMembers(
    ['head', 'content'],
    [textOrBytes(head.trim()), contentOf(text.slice(end < 0 ? text.length : end + 4))],
  );
}

function contentOf(latin1: string): LosslessJson {
  const text = textOrBytes(latin1);
  // Only what is plainly a structure: a field that says `1.0` is a text, and so is one that says `true`.
  return (typeof text === 'string' && /^\s*[[{]/.test(text) ? parseLossless(text) : undefined) ?? text;
}

function textOrBytes(latin1: string): LosslessJson {
  return utf8Text(Buffer.from(latin1, 'latin1')) ?? new JsonMembers(['bytes'], [latin1]);
}
