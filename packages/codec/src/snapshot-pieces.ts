/** The JSON of a snapshot from the bytes of its bodies, in pieces or whole: the same that `JSON.stringify` gives for it. */
import type { Body, Exchange, Snapshot } from '@orangebox/schema';
import { concatBytes, EMPTY_BYTES, toBase64, utf8 } from './bytes.ts';
import type { BodyBytes } from './assemble-exchange.ts';
import { escapedText, escapeInto } from './json-escapes.ts';
import { bodyHead, type LargeBody } from './large-body.ts';

/** Items of a list that are written at a time: a stream may have hundreds of thousands of chunks. */
const ITEMS_AT_ONCE = 512;
/** Bytes of a body that are written at a time. */
const BYTES_AT_ONCE = 64 * 1024;

/** Pieces of UTF-8 JSON; each is valid until the next one is asked for. @throws what reading the bodies throws */
export function snapshotPieces(snapshot: Snapshot, large: ReadonlyMap<Body, LargeBody>): Iterable<Uint8Array> {
  return piecesWith(snapshot, (body) => {
    const found = large.get(body);
    return found && bodyPieces(found);
  });
}

/** Shorter texts are written by the platform as soon. */
const LONG_TEXT_MIN_BYTES = 4 * 1024;

/**
 * The whole of the JSON, for a caller that still has the bytes of the bodies: long texts are escaped as bytes, where
 * `JSON.stringify` would make strings of twice the size of them, and bytes of those again.
 *
 * @param sizeBytes of that JSON, where it is known: then it is written to its place at once.
 */
export function snapshotJson(snapshot: Snapshot, bodies: BodyBytes, sizeBytes?: number): Uint8Array {
  const texts = new Set<Uint8Array>();
  const longText = (body: Body): Uint8Array | undefined => {
    const bytes = bodies.get(body);
    const isLong = body.form === 'text' && bytes instanceof Uint8Array && bytes.length >= LONG_TEXT_MIN_BYTES;
    return isLong ? bytes : undefined;
  };
  for (const body of bodies.keys()) {
    const text = longText(body);
    if (text) texts.add(text);
  }
  if (texts.size === 0) return utf8(JSON.stringify(snapshot));
  const pieces = [
    ...piecesWith(snapshot, (body) => {
      const bytes = longText(body);
      return bytes && [utf8(bodyHead(bytes.length, true)), bytes, BODY_END];
    }),
  ];
  const given = sizeBytes === undefined ? undefined : inPlace(pieces, texts, sizeBytes);
  return given ?? concatBytes(pieces.map((piece) => (texts.has(piece) ? escapedText(piece) : piece)));
}

/** The pieces, texts among them escaped, in one array; undefined where they don't have that size. */
function inPlace(pieces: Uint8Array[], texts: Set<Uint8Array>, sizeBytes: number): Uint8Array | undefined {
  const out = new Uint8Array(sizeBytes);
  let at = 0;
  try {
    for (const piece of pieces) {
      if (texts.has(piece)) at = escapeInto(piece, out, at);
      else {
        out.set(piece, at);
        at += piece.length;
      }
    }
  } catch {
    // There was no room: the size was another document's.
    return undefined;
  }
  return at === sizeBytes ? out : undefined;
}

/** Ends the text and the body. */
const BODY_END = utf8('"}');

function piecesWith(
  snapshot: Snapshot,
  bodyOf: (body: Body) => Iterable<Uint8Array> | undefined,
): Iterable<Uint8Array> {
  const body = (name: string, value: unknown): Iterable<Uint8Array> | undefined =>
    name === 'body' ? bodyOf(value as Body) : undefined;
  const message = (name: string, value: unknown): Iterable<Uint8Array> | undefined =>
    name === 'request' || name === 'response' ? membersOf(value as object, body) : undefined;
  return membersOf(snapshot, (name) =>
    name === 'exchanges' && snapshot.exchanges.length > 0 ? exchangesPieces(snapshot.exchanges, message) : undefined,
  );
}

function* exchangesPieces(
  exchanges: readonly Exchange[],
  message: (name: string, value: unknown) => Iterable<Uint8Array> | undefined,
): Generator<Uint8Array> {
  for (const [i, exchange] of exchanges.entries()) {
    yield utf8(i === 0 ? '[' : ',');
    yield* membersOf(exchange, message);
  }
  yield utf8(']');
}

/** The members of an object, some of them written by the caller, and long lists bit by bit. */
function* membersOf(
  object: object,
  write: (name: string, value: unknown) => Iterable<Uint8Array> | undefined,
): Generator<Uint8Array> {
  let text = '{';
  let isFirst = true;
  for (const [name, value] of Object.entries(object) as [string, unknown][]) {
    if (value === undefined) continue;
    text += `${isFirst ? '' : ','}${JSON.stringify(name)}:`;
    isFirst = false;
    const isLongList = Array.isArray(value) && value.length > ITEMS_AT_ONCE;
    const own = write(name, value) ?? (isLongList ? listPieces(value) : undefined);
    if (own) {
      yield utf8(text);
      text = '';
      yield* own;
    } else text += JSON.stringify(value);
  }
  yield utf8(`${text}}`);
}

function* listPieces(list: readonly unknown[]): Generator<Uint8Array> {
  for (let from = 0; from < list.length; from += ITEMS_AT_ONCE) {
    const json = JSON.stringify(list.slice(from, from + ITEMS_AT_ONCE));
    yield utf8(`${from === 0 ? '[' : ','}${json.slice(1, -1)}`);
  }
  yield utf8(']');
}

function* bodyPieces(large: LargeBody): Generator<Uint8Array> {
  yield utf8(bodyHead(large.sizeBytes, large.isText));
  let rest: Uint8Array = EMPTY_BYTES;
  for (const piece of large.pieces()) {
    for (let from = 0; from < piece.length; from += BYTES_AT_ONCE) {
      const bytes = piece.subarray(from, from + BYTES_AT_ONCE);
      if (large.isText) {
        yield escapedText(bytes);
        continue;
      }
      // Base64 is written in threes.
      const all = rest.length === 0 ? bytes : concatBytes([rest, bytes]);
      const whole = all.length - (all.length % 3);
      rest = new Uint8Array(all.subarray(whole));
      yield utf8(toBase64(all.subarray(0, whole)));
    }
  }
  if (rest.length > 0) yield utf8(toBase64(rest));
  yield BODY_END;
}
