/** Text fields of `multipart/form-data` bodies: uploads name their model in one. */
import type { JsonObject } from '@orangebox/schema';
import { charPerByte } from '../bytes.ts';
import { setMember } from './json.ts';

/** Fields longer than this are files or prompts that belong to the raw view. */
const FIELD_MAX_BYTES = 65_536;
const PARTS_MAX = 256;

/**
 * The text fields of a form, and its files as `{filename, content_type, size_bytes}`; undefined when the content type
 * names no boundary.
 */
export function parseMultipartFields(bytes: Uint8Array, contentType: string): JsonObject | undefined {
  const found = /boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType);
  const boundary = found?.[1] ?? found?.[2];
  if (!boundary) return undefined;
  // Positions are those of the bytes, and binary parts cost no decoding error.
  const text = charPerByte(bytes);
  const mark = `--${boundary}`;
  const fields: JsonObject = {};
  let at = text.indexOf(mark);
  for (let count = 0; at >= 0 && count < PARTS_MAX; count++) {
    const from = at + mark.length;
    if (text.startsWith('--', from)) break;
    at = text.indexOf(mark, from);
    const split = text.indexOf('\r\n\r\n', from);
    const end = at < 0 ? text.length : Math.max(from, at - 2);
    if (split < 0 || split + 4 > end) continue;
    const head = text.slice(from, split);
    const name = /\bname="([^"]*)"/i.exec(head)?.[1];
    if (name === undefined) continue;
    const sizeBytes = end - split - 4;
    const filename = /\bfilename="([^"]*)"/i.exec(head)?.[1];
    if (filename !== undefined) {
      const type = /^content-type:\s*(\S+)/im.exec(head)?.[1];
      setMember(fields, name, { filename, ...(type ? { content_type: type } : {}), size_bytes: sizeBytes });
    } else if (sizeBytes <= FIELD_MAX_BYTES) {
      setMember(fields, name, new TextDecoder().decode(bytes.subarray(split + 4, end)));
    }
  }
  return fields;
}
