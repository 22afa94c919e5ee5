/** Processes that are being recorded, and how far their open exchanges have come. Read with bounds: recordings are hostile. */
import type { SegmentRecord } from '@orangebox/schema';
import type { IndexedRecord } from './indexed-record.ts';
import { readFrames } from './segment-file.ts';
import type { SeriesIndex } from './series-index.ts';

/** A thread of a running process that writes segments. */
export interface LiveThread {
  pid: number;
  threadId: number;
  host: string;
  serviceName: string;
  /** Version of Node.js, as `process.version` has it. */
  node: string;
  /** When it began to record, Unix milliseconds. */
  sinceUnixMs: number;
  /** Calls that have ended, as far as they are still on record. */
  endedCalls: number;
  /** When it wrote last, Unix milliseconds. */
  lastWriteUnixMs: number;
  openCalls: OpenCall[];
  /** Open calls beyond those that were looked at. */
  moreOpenCalls: number;
}

/** An exchange that no call names yet. */
export interface OpenCall {
  traceId: string;
  spanId: string;
  method: string;
  url: string;
  /** As the request says it, where it could be read. */
  model?: string;
  startUnixNano: string;
  /** How far it has come; `ended`: the wire is done, and a retry may follow. */
  stage: 'request' | 'waiting' | 'answering' | 'ended';
  /** Body bytes on the wire. */
  requestBytes: number;
  responseBytes: number;
  responseChunks: number;
  /** When the last bytes went or came; absent before the first. */
  lastChunkUnixNano?: string;
  /** The beginning of its bytes is too far back to be counted: there are at least so many. */
  isPartlyCounted?: true;
}

const OPEN_MAX = 200;
/** So much of a series is read back for the progress of its open exchanges. */
const READ_BACK_BYTES = 256 * 1024 * 1024;
/** The model stands in the first bytes of a request. */
const MODEL_READ_BYTES = 1024 * 1024;
const MODEL = /"model"\s*:\s*"([^"\\]{1,128})"/;
const PROGRESS = new Set<SegmentRecord['type']>([
  'requestChunk',
  'requestEnd',
  'responseHead',
  'responseChunk',
  'exchangeEnd',
]);
const REQUEST_BODY = new Set<SegmentRecord['type']>(['requestChunk']);

/**
 * The live ones among the series, those of one thread as one, oldest first. A thread that samples has a journal beside its
 * segment: a call that moves from one to the other, or to a new file of the journal, may stand in both for a moment.
 */
export function liveThreads(all: Iterable<SeriesIndex>): LiveThread[] {
  const live = [...all].flatMap((series) => {
    const last = series.files.at(-1);
    return last && series.live ? [{ series, last, name: threadOf(last.file.id) }] : [];
  });
  // What moved goes on in the newer one.
  live.sort((a, b) => b.last.file.id.startUnixMs - a.last.file.id.startUnixMs);
  const threads = new Map<string, LiveThread>();
  const seen = new Set<string>();
  for (const { series, last, name } of live) {
    const { host, pid, threadId, startUnixMs } = last.file.id;
    const info = series.processes(0)[0];
    const thread = threads.get(name) ?? {
      pid,
      threadId,
      host: info?.host ?? host,
      serviceName: info?.serviceName ?? '',
      node: info?.node ?? '',
      sinceUnixMs: startUnixMs,
      endedCalls: 0,
      lastWriteUnixMs: 0,
      openCalls: [],
      moreOpenCalls: 0,
    };
    threads.set(name, thread);
    thread.sinceUnixMs = Math.min(thread.sinceUnixMs, startUnixMs);
    thread.endedCalls += series.calls.filter(({ type }) => type === 'call').length;
    thread.lastWriteUnixMs = Math.max(thread.lastWriteUnixMs, last.file.modifiedMs);
    const open = series.open().filter(({ spanId }) => {
      const isEnded = live.some((other) => other.name === name && other.series.find(spanId));
      if (isEnded || seen.has(`${name} ${spanId}`)) return false;
      seen.add(`${name} ${spanId}`);
      return true;
    });
    const room = Math.max(0, OPEN_MAX - thread.openCalls.length);
    thread.moreOpenCalls += Math.max(0, open.length - room);
    thread.openCalls.push(...progressOf(series, open.slice(0, room)));
  }
  return [...threads.values()].sort((a, b) => a.sinceUnixMs - b.sinceUnixMs || a.threadId - b.threadId);
}

function threadOf({ host, pid, threadId }: { host: string; pid: number; threadId: number }): string {
  return `${host} ${pid} ${threadId}`;
}

function progressOf(series: SeriesIndex, open: readonly IndexedRecord[]): OpenCall[] {
  const calls = new Map<number, OpenCall>();
  for (const indexed of open) {
    const id = indexed.exchangeIds[0];
    if (id === undefined) continue;
    const model = modelOf(series, indexed, id);
    calls.set(id, {
      traceId: indexed.traceId,
      spanId: indexed.spanId,
      method: indexed.request?.method ?? '',
      url: indexed.request?.url ?? '',
      ...(model === undefined ? {} : { model }),
      startUnixNano: indexed.startUnixNano,
      stage: 'request',
      requestBytes: 0,
      responseBytes: 0,
      responseChunks: 0,
    });
  }
  if (calls.size === 0) return [];
  const from = firstOf(open);
  let left = READ_BACK_BYTES;
  // The newest files first, so that what the bound leaves out is the oldest.
  for (let i = series.files.length - 1; i >= from.file; i -= 1) {
    const file = series.files[i]?.file;
    if (!file) continue;
    const begin = i === from.file ? from.offset : 0;
    if (file.sizeBytes - begin > left) {
      for (const call of calls.values()) call.isPartlyCounted = true;
      break;
    }
    left -= file.sizeBytes - begin;
    readFrames(file, { ...(begin > 0 ? { from: begin } : {}), scan: true, types: PROGRESS }, ({ record }) => {
      const call = 'exchangeId' in record ? calls.get(record.exchangeId) : undefined;
      if (call) take(call, record);
    });
  }
  return [...calls.values()];
}

/** The oldest place that any of them begins at. */
function firstOf(open: readonly IndexedRecord[]): { file: number; offset: number } {
  return open.reduce(
    (first, { place }) =>
      place.file < first.file || (place.file === first.file && place.offset < first.offset) ? place : first,
    { file: Number.POSITIVE_INFINITY, offset: 0 },
  );
}

const ORDER: readonly OpenCall['stage'][] = ['request', 'waiting', 'answering', 'ended'];

function take(call: OpenCall, record: SegmentRecord): void {
  const reach = (stage: OpenCall['stage']): void => {
    if (ORDER.indexOf(stage) > ORDER.indexOf(call.stage)) call.stage = stage;
  };
  if (record.type === 'requestChunk' || record.type === 'responseChunk') {
    const at = BigInt(call.startUnixNano) + BigInt(Math.round(record.offsetNano));
    if (call.lastChunkUnixNano === undefined || at > BigInt(call.lastChunkUnixNano)) call.lastChunkUnixNano = `${at}`;
  }
  if (record.type === 'requestChunk') call.requestBytes += record.wireSizeBytes;
  else if (record.type === 'requestEnd') reach('waiting');
  else if (record.type === 'responseHead') reach('answering');
  else if (record.type === 'exchangeEnd') reach('ended');
  else if (record.type === 'responseChunk') {
    reach('answering');
    call.responseBytes += record.wireSizeBytes;
    call.responseChunks += 1;
  }
}

/** The model that the request names, from its first bytes. */
function modelOf(series: SeriesIndex, { place }: IndexedRecord, exchangeId: number): string | undefined {
  const file = series.files[place.file]?.file;
  if (!file) return undefined;
  const to = place.offset + place.sizeBytes + MODEL_READ_BYTES;
  let text = '';
  readFrames(file, { from: place.offset, to, types: REQUEST_BODY }, ({ record }) => {
    if (record.type !== 'requestChunk' || record.exchangeId !== exchangeId || text.length >= MODEL_READ_BYTES) return;
    text += Buffer.from(record.bytes.buffer, record.bytes.byteOffset, record.bytes.byteLength).toString('latin1');
  });
  return MODEL.exec(text)?.[1];
}
