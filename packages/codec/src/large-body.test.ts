import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { ChunkRecord } from '@orangebox/schema';
import { expect, test } from 'vitest';
import { buildMeasuredCall } from './assemble.ts';
import { concatBytes, utf8 } from './bytes.ts';
import { BodyMeasure, type LargeBody, type RunningSha256 } from './large-body.ts';
import { collectRecords, type ExchangeRecords } from './records.ts';
import { snapshotJson, snapshotPieces } from './snapshot-pieces.ts';
import { SAMPLE_PROCESS, sampleChunk, sampleRecords } from './testing/sample-records.ts';

const sha256 = (data: Uint8Array | string): string => createHash('sha256').update(data).digest('hex');

function runningSha256(): RunningSha256 {
  const hash = createHash('sha256');
  return { update: (bytes) => void hash.update(bytes), hex: () => hash.digest('hex') };
}

function largeOf(chunks: readonly ChunkRecord[]): LargeBody {
  const pieces = chunks.map(({ bytes }) => bytes);
  const reused = Buffer.alloc(Math.max(...pieces.map(({ length }) => length)));
  // In memory that is used again, as where they are read from a file.
  const read = function* (): Generator<Uint8Array> {
    for (const piece of pieces) {
      reused.set(piece);
      yield reused.subarray(0, piece.length);
    }
  };
  const measure = new BodyMeasure(runningSha256());
  for (const piece of read()) measure.update(piece);
  return { ...measure.end(), pieces: read, chunkSizes: pieces.map(({ length }) => length) };
}

const EMPTY = new Uint8Array(0);
const withoutBytes = (chunks: readonly ChunkRecord[]): ChunkRecord[] => chunks.map((c) => ({ ...c, bytes: EMPTY }));

const everyCharacter = utf8(
  Array.from({ length: 0x500 }, (_, code) => String.fromCharCode(code)).join('') + '\u2028€😀\ufeff\uffff',
);
const invalid = [
  [0xff],
  [0xc3],
  [0xc3, 0x28],
  [0xe2, 0x82],
  [0xed, 0xa0, 0x80],
  [0xf0, 0x9f, 0x98],
  [0xf8, 0x88, 0x80, 0x80],
  [0xc0, 0x80],
  [0x80],
  [0xf4, 0x90, 0x80, 0x80],
].map((bytes) => Uint8Array.from(bytes));
const bodies: [name: string, bytes: Uint8Array][] = [
  ['ASCII', utf8('An orange is round. '.repeat(9000))],
  ['every character of two code pages', everyCharacter],
  ['characters of four bytes', utf8('😀'.repeat(50))],
  ['a byte order mark', utf8('\ufeff{"a":1}')],
  ['escapes of lone surrogates', utf8('{"a":"\\ud800","b":"\\udc00\\ud800"}')],
  ['control characters', Uint8Array.from({ length: 0x20 }, (_, i) => i)],
  ['gzip', gzipSync('An orange is round. '.repeat(100))],
  ...invalid.flatMap((bytes): [string, Uint8Array][] => [
    [`invalid alone ${bytes}`, bytes],
    [`invalid ${bytes}`, concatBytes([utf8('ä€'), bytes, utf8('€ä')])],
    [`invalid at the end ${bytes}`, concatBytes([utf8('x€'), bytes])],
  ]),
];

/** Splits at every so many bytes. */
function split(bytes: Uint8Array, size: number): Uint8Array[] {
  const pieces: Uint8Array[] = [EMPTY];
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
  return pieces;
}

test.each(bodies)('a body in pieces makes the very same snapshot: %s', (_, bytes) => {
  for (const size of [1, 2, 3, 5, 1000, 100_000]) {
    if (bytes.length / size > 20_000) continue;
    const { calls, exchanges: byId } = collectRecords(sampleRecords());
    const [call] = calls;
    if (!call) throw new Error('the sample has a call');
    const exchanges = call.exchangeIds.flatMap((id) => byId.get(id) ?? []);
    const plain = exchanges.map((exchange): ExchangeRecords => {
      const chunks = (type: ChunkRecord['type']): ChunkRecord[] =>
        split(bytes, size).map((piece, i) => sampleChunk(type, exchange.start.exchangeId, piece, 4000 + i));
      return { ...exchange, requestChunks: chunks('requestChunk'), responseChunks: chunks('responseChunk') };
    });
    const apart = plain.map(
      (exchange): ExchangeRecords => ({
        ...exchange,
        requestChunks: withoutBytes(exchange.requestChunks),
        responseChunks: withoutBytes(exchange.responseChunks),
        large: { request: largeOf(exchange.requestChunks), response: largeOf(exchange.responseChunks) },
      }),
    );
    const process = SAMPLE_PROCESS;
    const whole = buildMeasuredCall({ call, exchanges: plain, process }, sha256);
    const measured = buildMeasuredCall({ call, exchanges: apart, process }, sha256);
    const json = JSON.stringify(whole.snapshot);
    expect(measured.snapshot.digest).toBe(whole.snapshot.digest);
    expect(measured.sizeBytes).toBe(whole.sizeBytes);
    expect(JSON.stringify(measured.snapshot) === json).toBe(true);
    for (const { snapshot, large, bodies: bytesOf } of [measured, whole]) {
      const jsonBytes = Buffer.byteLength(json);
      // A size that is wrong costs time and nothing else.
      for (const sizeBytes of [undefined, jsonBytes, jsonBytes - 1, jsonBytes + 1, jsonBytes >> 1, 0]) {
        expect(Buffer.from(snapshotJson(snapshot, bytesOf, sizeBytes)).equals(Buffer.from(json))).toBe(true);
      }
      const pieces = Array.from(snapshotPieces(snapshot, large), (piece) => new Uint8Array(piece));
      expect(Buffer.concat(pieces).equals(Buffer.from(json))).toBe(true);
      expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(64 * 1024 * 6 + 1);
    }
  }
});
