/** The digest of a snapshot: what makes it verifiable and names it. */
import { type Body, type Exchange, type Json, type Snapshot, UNDIGESTED_MEMBERS } from '@orangebox/schema';
import { decodeBody, type ResolveBody } from './body.ts';
import { canonicalJson } from './canonical-json.ts';
import type { Sha256 } from './hash.ts';

const UNDIGESTED: ReadonlySet<string> = new Set(UNDIGESTED_MEMBERS);

/**
 * SHA-256 (hex) over the RFC 8785 form of the document without its derived members and its digest, each body replaced
 * by `{sha256, sizeBytes}` of its bytes. It is the same in whatever form a body is stored.
 *
 * @param resolve finds the base of `delta` bodies.
 * @throws OrangeboxError `OBX_SNAPSHOT_BODY*` for bodies that do not decode, `OBX_JSON_*` for what is no JSON.
 */
export function snapshotDigest(snapshot: Omit<Snapshot, 'digest'>, sha256: Sha256, resolve?: ResolveBody): string {
  return digestWith(snapshot, sha256, (body) => decodeBody(body, resolve));
}

/** As {@link snapshotDigest}, for a caller that still has the bytes of the bodies. */
export function digestWith(
  snapshot: Omit<Snapshot, 'digest'>,
  sha256: Sha256,
  bytesOf: (body: Body) => Uint8Array,
): string {
  const document: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(snapshot)) {
    if (!UNDIGESTED.has(name)) document[name] = value;
  }
  const hashed = (body: Body): Json => ({ sha256: sha256(bytesOf(body)), sizeBytes: body.sizeBytes });
  document['exchanges'] = snapshot.exchanges.map((exchange) => hashedExchange(exchange, hashed));
  return sha256(canonicalJson(document as Json));
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
