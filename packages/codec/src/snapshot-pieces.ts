/** The JSON of a snapshot with large bodies, in pieces: the same bytes that `JSON.stringify` gives for it whole. */
import type { Body, Exchange, Snapshot } from '@orangebox/schema';
import { concatBytes, EMPTY_BYTES, toBase64, utf8 } from './bytes.ts';
import { escapedText } from './json-escapes.ts';
import { bodyHead, type LargeBody } from './large-body.ts';

/** Items of a list that are written at a time: a stream may have hundreds of thousands of chunks. */
const ITEMS_AT_ONCE = 512;
/** Bytes of a body that are written at a time. */
const BYTES_AT_ONCE = 64 * 1024;

/** Pieces of UTF-8 JSON; each is valid until the next one is asked for. @throws what reading the bodies throws */
export function snapshotPieces(snapshot: Snapshot, large: ReadonlyMap<Body, LargeBody>): Iterable<Uint8Array> {
  const body = (name: string, value: unknown): Iterable<Uint8Array> | undefined => {
    const found = name === 'body' ? large.get(value as Body) : undefined;
    return found && bodyPieces(found);
  };
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
function* membersOf<T extends object>(
  object: T,
  write: (name: string, value: unknown) => Iterable<Uint8Array> | undefined,
): Generator<Uint8Array> {
  let text = '{';
  let isFirst = true;
  for (const [name, value] of Object.entries(object)) {
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
  yield utf8('"}');
}
