/** The digest of a snapshot: what makes it verifiable and names it. */
import { type Body, type Exchange, type Json, type Snapshot, UNDIGESTED_MEMBERS } from '@orangebox/schema';
import { decodeBody, type ResolveBody } from './body.ts';
import { utf8 } from './bytes.ts';
import { canonicalJson } from './canonical-json.ts';
import type { Sha256 } from './hash.ts';
import { escapeBytes } from './json-escapes.ts';
import type { BodyFacts } from './large-body.ts';

const UNDIGESTED: ReadonlySet<string> = new Set(UNDIGESTED_MEMBERS);

/**
 * SHA-256 (hex) over the RFC 8785 form of the document without its derived members and its digest, each body replaced
 * by `{sha256, sizeBytes}` of its bytes. It is the same in whatever form a body is stored.
 *
 * @param resolve finds the base of `delta` bodies.
 * @throws OrangeboxError `OBX_SNAPSHOT_BODY*` for bodies that do not decode, `OBX_JSON_*` for what is no JSON.
 */
export function snapshotDigest(snapshot: Omit<Snapshot, 'digest'>, sha256: Sha256, resolve?: ResolveBody): string {
  return digestWith(snapshot, sha256, (body) => decodeBody(body, resolve)).digest;
}

/** A snapshot's digest, and how large its JSON is. */
export interface DigestAndSize {
  digest: string;
  /** UTF-8 bytes that `JSON.stringify` gives for the document with its digest. */
  sizeBytes: number;
}

/**
 * As {@link snapshotDigest}, for a caller that still has the bytes of the bodies. The canonical form has the members of
 * the document in another order only, so the size of the JSON follows from it, and the bodies need not be written twice.
 */
export function digestWith(
  snapshot: Omit<Snapshot, 'digest'>,
  sha256: Sha256,
  bytesOf: (body: Body) => Uint8Array | BodyFacts,
): DigestAndSize {
  const document: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(snapshot)) {
    if (!UNDIGESTED.has(name)) document[name] = value;
  }
  let sizeBytes = DIGEST_MEMBER_BYTES;
  const hashed = (body: Body): Json => {
    const bytes = bytesOf(body);
    const isLarge = !(bytes instanceof Uint8Array);
    const stand = { sha256: isLarge ? bytes.sha256 : sha256(bytes), sizeBytes: body.sizeBytes };
    sizeBytes += (isLarge ? bytes.jsonBytes : bodyJsonBytes(body, bytes)) - JSON.stringify(stand).length;
    return stand;
  };
  document['exchanges'] = snapshot.exchanges.map((exchange) => hashedExchange(exchange, hashed));
  const canonical = utf8(canonicalJson(document as Json));
  return { digest: sha256(canonical), sizeBytes: sizeBytes + canonical.length };
}

/** `,"digest":"<64 hex digits>"` */
const DIGEST_MEMBER_BYTES = 76;

function bodyJsonBytes(body: Body, bytes: Uint8Array): number {
  if (body.form !== 'text') return JSON.stringify(body).length;
  return JSON.stringify({ ...body, text: '' }).length + bytes.length + escapeBytes(bytes);
}

function hashedExchange(exchange: Exchange, hashed: (body: Body) => Json): unknown {
  const request = { ...exchange.request, body: hashed(exchange.request.body) };
  if (!exchange.response) return { ...exchange, request };
  return { ...exchange, request, response: { ...exchange.response, body: hashed(exchange.response.body) } };
}

/** Whether a snapshot's bodies and members give the digest it states. Never throws: what does not decode is false. */
export function verifySnapshotDigest(snapshot: Snapshot, sha256: Sha256, resolve?: ResolveBody): boolean {
  try {
    return snapshotDigest(snapshot, sha256, resolve) === snapshot.digest;
  } catch {
    return false;
  }
}
