/** Bodies: bytes to their stored form and back. */
import { type Body, OrangeboxError } from '@orangebox/schema';
import { concatBytes, EMPTY_BYTES, fromBase64, toBase64, utf8, utf8Text } from './bytes.ts';

/** Deltas on deltas are followed this far; a longer row is damage or an attack. */
const DELTA_MAX_DEPTH = 64;

/** The stored form of bytes: `text` where they are valid UTF-8, else `base64`; no bytes are `empty`. */
export function encodeBody(bytes: Uint8Array): Body {
  if (bytes.length === 0) return { form: 'empty', sizeBytes: 0 };
  const text = utf8Text(bytes);
  if (text !== undefined) return { form: 'text', sizeBytes: bytes.length, text };
  return { form: 'base64', sizeBytes: bytes.length, base64: toBase64(bytes) };
}

/** Finds the bytes of an earlier body by their SHA-256, for {@link decodeBody} of a `delta`. */
export type ResolveBody = (sha256: string) => Uint8Array | undefined;

/**
 * The bytes of a body, whatever its form.
 *
 * @throws OrangeboxError `OBX_SNAPSHOT_BODY` when the stored form does not give the stated size, and
 * `OBX_SNAPSHOT_BODY_BASE` when a delta's base is not to be had.
 */
export function decodeBody(body: Body, resolve?: ResolveBody): Uint8Array {
  const bytes = decodeForm(body, resolve, 0);
  if (bytes.length !== body.sizeBytes) {
    throw damaged(`a body says ${body.sizeBytes} bytes and has ${bytes.length}`);
  }
  return bytes;
}

function decodeForm(body: Body, resolve: ResolveBody | undefined, depth: number): Uint8Array {
  switch (body.form) {
    case 'empty':
      return EMPTY_BYTES;
    case 'text':
      return utf8(body.text);
    case 'base64': {
      const bytes = fromBase64(body.base64);
      if (!bytes) throw damaged('a body is not valid base64');
      return bytes;
    }
    case 'delta': {
      if (depth >= DELTA_MAX_DEPTH) throw damaged('a body is a delta of too many deltas');
      const base = resolve?.(body.baseSha256);
      if (!base) {
        throw new OrangeboxError('OBX_SNAPSHOT_BODY_BASE', `the earlier body ${body.baseSha256} is missing`, {
          hint: 'fetch the earlier calls of the session too',
        });
      }
      if (body.prefixBytes > base.length || body.suffixBytes > base.length) {
        throw damaged('a delta takes more of the earlier body than it has');
      }
      const middle = decodeForm(body.middle, resolve, depth + 1);
      const suffix = base.subarray(base.length - body.suffixBytes);
      return concatBytes([base.subarray(0, body.prefixBytes), middle, suffix]);
    }
    default:
      throw damaged('a body has a form this version does not know');
  }
}

function damaged(message: string): OrangeboxError {
  return new OrangeboxError('OBX_SNAPSHOT_BODY', message, { hint: 'fetch the snapshot again' });
}
