/** One exchange's records to the exchange of a snapshot. */
import type { Body, Chunk, ChunkRecord, Exchange, ExchangeRequest, ExchangeResponse, Stage } from '@orangebox/schema';
import { encodeBody } from './body.ts';
import { concatBytes } from './bytes.ts';
import { type LargeBody, standForLargeBody } from './large-body.ts';
import type { ExchangeRecords } from './records.ts';

/** Keeps the bytes of the bodies that were made, so that a digest need not decode them again. */
export type BodyBytes = Map<Body, Uint8Array | LargeBody>;

/** The exchange that records make; without an end on record it ended in `process_died`. */
export function assembleExchange(
  records: ExchangeRecords,
  attempt: number,
  spanId: string | undefined,
  bytes: BodyBytes,
): Exchange {
  const { start, requestHead, end } = records;
  return {
    attempt,
    ...(spanId === undefined ? {} : { spanId }),
    startUnixNano: start.startUnixNano,
    endOffsetNano: endOffsetNano(records),
    client: start.client,
    ...(requestHead?.peer ? { peer: requestHead.peer } : {}),
    request: assembleRequest(records, bytes),
    ...(records.responseHead ? { response: assembleResponse(records, records.responseHead, bytes) } : {}),
    ending: end?.ending ?? 'process_died',
    stage: end?.stage ?? stageReached(records),
    ...(end?.error ? { error: end.error } : {}),
    ...(end?.truncated ? { truncated: end.truncated } : {}),
  };
}

function assembleRequest(records: ExchangeRecords, bytes: BodyBytes): ExchangeRequest {
  const { start, requestHead, requestChunks, requestEnd } = records;
  return {
    method: start.method,
    url: start.url,
    headers: requestHead?.headers ?? [],
    ...(requestHead?.derivedHeaders ? { derivedHeaders: requestHead.derivedHeaders } : {}),
    body: assembleBody(requestChunks, records.large?.request, bytes),
    chunks: assembleChunks(requestChunks, records.large?.request),
    sent: requestEnd !== undefined,
    ...(requestEnd?.trailers ? { trailers: requestEnd.trailers } : {}),
  };
}

function assembleResponse(
  records: ExchangeRecords,
  head: NonNullable<ExchangeRecords['responseHead']>,
  bytes: BodyBytes,
): ExchangeResponse {
  const { responseChunks, end } = records;
  return {
    status: head.status,
    statusText: head.statusText,
    ...(head.httpVersion === undefined ? {} : { httpVersion: head.httpVersion }),
    headers: head.headers,
    headOffsetNano: head.offsetNano,
    ...(head.delivery === 0 ? {} : { headDelivery: head.delivery }),
    ...(head.informational ? { informational: head.informational } : {}),
    body: assembleBody(responseChunks, records.large?.response, bytes),
    chunks: assembleChunks(responseChunks, records.large?.response),
    ...(end?.storedDecoded ? { storedDecoded: end.storedDecoded } : {}),
    ...(end?.trailers ? { trailers: end.trailers } : {}),
  };
}

/** A body is the chunks' bytes in order: a character split over two of them comes out whole. */
function assembleBody(chunks: readonly ChunkRecord[], large: LargeBody | undefined, bytes: BodyBytes): Body {
  if (large) {
    const stand = standForLargeBody(large);
    bytes.set(stand, large);
    return stand;
  }
  const all = concatBytes(chunks.map((chunk) => chunk.bytes));
  const body = encodeBody(all);
  bytes.set(body, all);
  return body;
}

function assembleChunks(chunks: readonly ChunkRecord[], large: LargeBody | undefined): Chunk[] {
  return chunks.map((record, i) => assembleChunk(record, large?.chunkSizes?.[i] ?? record.bytes.length));
}

/** Members in canonical order: there are many chunks, and their digest is made sooner so. */
function assembleChunk(record: ChunkRecord, sizeBytes: number): Chunk {
  const { delivery, wireSizeBytes } = record;
  const offsetNano = String(Math.round(record.offsetNano));
  const chunk: Chunk = delivery === 0 ? { offsetNano, sizeBytes } : { delivery, offsetNano, sizeBytes };
  if (wireSizeBytes !== sizeBytes) chunk.wireSizeBytes = wireSizeBytes;
  return chunk;
}

/** Of the end, else of the last thing on record. */
function endOffsetNano(records: ExchangeRecords): string {
  if (records.end) return records.end.offsetNano;
  let last = 0n;
  const see = (nano: bigint): void => {
    if (nano > last) last = nano;
  };
  for (const chunk of [records.requestChunks.at(-1), records.responseChunks.at(-1)]) {
    if (chunk) see(BigInt(Math.round(chunk.offsetNano)));
  }
  if (records.requestEnd) see(BigInt(records.requestEnd.offsetNano));
  if (records.responseHead) see(BigInt(records.responseHead.offsetNano));
  return String(last);
}

function stageReached(records: ExchangeRecords): Stage {
  if (records.responseHead) return 'response_body';
  if (records.requestEnd) return 'response_head';
  return records.requestHead || records.requestChunks.length > 0 ? 'request' : 'connect';
}
