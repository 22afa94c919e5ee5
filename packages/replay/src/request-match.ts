/**
 * Whether a request is a recorded one: in its bytes, or in its canonical form. Canonical forgives key order, the name of
 * a multipart boundary and the values of replaced secrets, nothing else.
 */
import { decodeBody, headerOf, SECRET_TOKEN_PATTERN } from '@orangebox/codec';
import type { ExchangeRequest, HeaderList, Json } from '@orangebox/schema';
import { decodeContent } from '@orangebox/store';

/** A request as it came. */
export interface SeenRequest {
  method: string;
  /** Path and query. */
  target: string;
  headers: HeaderList;
  body: Uint8Array;
}

/** How well a request fits. */
export type MatchRung = 'exact' | 'canonical';

/** Compares requests with recorded ones; what is known of a recording is worked out once. */
export class RecordedRequest {
  readonly #recorded: ExchangeRequest;
  readonly #bytes: Uint8Array;
  readonly #target: string;
  #canonical: { value: Json | Uint8Array } | undefined;

  constructor(recorded: ExchangeRequest) {
    this.#recorded = recorded;
    this.#bytes = decodeBody(recorded.body);
    this.#target = targetOf(recorded.url);
  }

  /** The rung on which a request is this one; undefined when it is another. */
  match(seen: SeenRequest): MatchRung | undefined {
    if (seen.method.toUpperCase() !== this.#recorded.method.toUpperCase()) return undefined;
    const isSameTarget = seen.target === this.#target;
    if (isSameTarget && sameBytes(seen.body, this.#bytes)) return 'exact';
    if (!isSameTarget && !sameCanonicalTarget(this.#target, seen.target)) return undefined;
    return this.#sameCanonicalBody(seen) ? 'canonical' : undefined;
  }

  #sameCanonicalBody(seen: SeenRequest): boolean {
    if (sameBytes(seen.body, this.#bytes)) return true;
    this.#canonical ??= { value: canonicalBody(this.#recorded.headers, this.#bytes) };
    const mine = this.#canonical.value;
    const theirs = canonicalBody(seen.headers, seen.body);
    if (mine instanceof Uint8Array || theirs instanceof Uint8Array) {
      return mine instanceof Uint8Array && theirs instanceof Uint8Array && sameText(mine, theirs);
    }
    return sameJson(mine, theirs);
  }
}

/** Path and query of a recorded URL; what does not parse matches nothing. */
export function targetOf(url: string): string {
  try {
    const { pathname, search } = new URL(url);
    return pathname + search;
  } catch {
    return '';
  }
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}

function sameCanonicalTarget(recorded: string, seen: string): boolean {
  const [recordedPath, recordedQuery = ''] = split(recorded);
  const [seenPath, seenQuery = ''] = split(seen);
  if (recordedPath !== seenPath || recordedPath === '') return false;
  const left = [...new URLSearchParams(recordedQuery)].sort(byName);
  const right = [...new URLSearchParams(seenQuery)].sort(byName);
  return (
    left.length === right.length &&
    left.every(([name, value], i) => name === right[i]?.[0] && fits(value, right[i]?.[1] ?? ''))
  );
}

function split(target: string): string[] {
  const at = target.indexOf('?');
  return at < 0 ? [target] : [target.slice(0, at), target.slice(at + 1)];
}

function byName([a]: [string, string], [b]: [string, string]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** JSON where it is JSON, else the bytes with a fixed multipart boundary. */
function canonicalBody(headers: HeaderList, body: Uint8Array): Json | Uint8Array {
  const encoding = headerOf(headers, 'content-encoding');
  const bytes = (encoding === undefined ? undefined : decodeContent(encoding, body)) ?? body;
  const type = headerOf(headers, 'content-type') ?? '';
  const boundary = /^multipart\/[^;]+;.*?boundary="?([^";]{1,200})"?/i.exec(type)?.[1];
  if (boundary !== undefined) {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
    return Buffer.from(text.replaceAll(`--${boundary}`, '--boundary'), 'latin1');
  }
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as Json;
  } catch {
    return bytes;
  }
}

function sameJson(recorded: Json, seen: Json): boolean {
  if (typeof recorded === 'string') return typeof seen === 'string' && fits(recorded, seen);
  if (typeof recorded !== 'object' || recorded === null) return recorded === seen;
  if (typeof seen !== 'object' || seen === null) return false;
  if (Array.isArray(recorded)) {
    return (
      Array.isArray(seen) &&
      recorded.length === seen.length &&
      recorded.every((item, i) => sameJson(item, seen[i] as Json))
    );
  }
  if (Array.isArray(seen)) return false;
  const names = Object.keys(recorded);
  return (
    names.length === Object.keys(seen).length &&
    names.every((name) => Object.hasOwn(seen, name) && sameJson(recorded[name] as Json, seen[name] as Json))
  );
}

function sameText(recorded: Uint8Array, seen: Uint8Array): boolean {
  if (sameBytes(recorded, seen)) return true;
  return fits(Buffer.from(recorded).toString('latin1'), Buffer.from(seen).toString('latin1'));
}

/** Whether a text is a recorded one whose secrets were replaced: a token stands for any text, the rest must be equal. */
function fits(recorded: string, seen: string): boolean {
  if (recorded === seen) return true;
  const fixed = recorded.split(new RegExp(SECRET_TOKEN_PATTERN.source, 'g'));
  if (fixed.length === 1) return false;
  const first = fixed[0] ?? '';
  const last = fixed.at(-1) ?? '';
  if (!seen.startsWith(first) || !seen.endsWith(last) || seen.length < first.length + last.length) return false;
  let at = first.length;
  for (const part of fixed.slice(1, -1)) {
    const found = seen.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= seen.length - last.length;
}
