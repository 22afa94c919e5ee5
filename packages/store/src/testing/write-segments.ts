/** Makes segment files for tests, record by record, as a recorder does. Not part of the package's surface. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import {
  addToExchange,
  buildCallSnapshot,
  buildToolSnapshot,
  chainOf,
  describeCall,
  encodeRecord,
  encodeSegmentHeader,
  type ExchangePartRecord,
  type ExchangeRecords,
  newExchangeRecords,
} from '@orangebox/codec';
import {
  type CallEndRecord,
  type Ending,
  type ErrorInfo,
  type ExchangeStartRecord,
  type HeaderList,
  type ProcessInfo,
  type ScopeFrame,
  SEGMENTS_DIRECTORY,
  type SegmentRecord,
  segmentFileName,
  segmentHost,
  type SessionRef,
  type Snapshot,
  type Stage,
  snapshotKey,
  type ToolExecution,
} from '@orangebox/schema';
import { decodeContent } from '../decode-content.ts';
import { entryOfSnapshot } from '../entry-of-snapshot.ts';
import { sha256 } from '../hash.ts';

/** A process number that no process has: of a child that has ended. */
export const DEAD_PID = 4_194_305;

/** A directory that is gone after the test. */
export function temporaryDirectory(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'obx-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** An attempt of a recorded call. */
export interface TestAttempt {
  url?: string;
  method?: string;
  requestHeaders?: HeaderList;
  requestBody?: string | Uint8Array;
  status?: number;
  statusText?: string;
  responseHeaders?: HeaderList;
  /** Chunks as delivered. */
  response?: (string | Uint8Array)[];
  storedDecoded?: { contentEncoding: string; wireSizeBytes: number };
  ending?: Ending;
  stage?: Stage;
  error?: ErrorInfo;
}

/** A recorded call. */
export interface TestCall {
  kind?: 'llm' | 'http';
  traceId?: string;
  spanId?: string;
  parentSpanId?: string;
  session?: SessionRef;
  scope?: ScopeFrame[];
  startMs?: number;
  attempts?: TestAttempt[];
  attemptsBasis?: 'retry_header' | 'redirect' | 'inferred';
  error?: ErrorInfo;
  /** Leave the call without an end, as a crash does. */
  open?: boolean;
  /** Change the records before they are written. */
  tamper?: (records: SegmentRecord[]) => SegmentRecord[];
  redactions?: Snapshot['redactions'];
  /** Nothing is promised. */
  notKept?: boolean;
}

let counter = 0;

/** A span id that no other test call has. */
export function newSpanId(): string {
  counter += 1;
  return sha256(`span ${counter}`).slice(0, 16);
}

/** Writes one series of segment files. */
export class TestSegments {
  readonly directory: string;
  readonly process: ProcessInfo;
  readonly startMs: number;
  #n = 0;
  #exchangeId = 0;
  #delivery = 0;
  #buffers: Uint8Array[] = [];

  constructor(directory: string, options: { pid?: number; threadId?: number; startMs?: number; host?: string } = {}) {
    this.directory = directory;
    this.startMs = options.startMs ?? Date.UTC(2026, 10, 30, 12);
    this.process = {
      pid: options.pid ?? DEAD_PID,
      threadId: options.threadId ?? 0,
      host: options.host ?? hostname(),
      node: process.versions.node,
      orangebox: '0.1.0',
      serviceName: 'test-service',
    };
    this.#begin();
  }

  #begin(): void {
    this.#buffers = [encodeSegmentHeader()];
    this.write({
      type: 'segmentStart',
      process: this.process,
      startUnixNano: `${this.startMs}000000`,
      n: this.#n,
    });
  }

  /** Path of the present file. */
  get path(): string {
    const date = new Date(this.startMs).toISOString().slice(0, 10);
    const name = segmentFileName({
      host: segmentHost(this.process.host),
      pid: this.process.pid,
      threadId: this.process.threadId,
      startUnixMs: this.startMs,
      n: this.#n,
    });
    return join(this.directory, SEGMENTS_DIRECTORY, date, name);
  }

  /** Bytes of the present file. */
  get bytes(): Buffer {
    return Buffer.concat(this.#buffers);
  }

  write(record: SegmentRecord): void {
    this.#buffers.push(encodeRecord(record, crc32));
  }

  /** Puts the present file on the disk, `cut` bytes short. */
  save(cut = 0): string {
    mkdirSync(join(this.path, '..'), { recursive: true, mode: 0o700 });
    const bytes = this.bytes;
    writeFileSync(this.path, bytes.subarray(0, bytes.length - cut), { mode: 0o600 });
    return this.path;
  }

  /** Closes the present file and goes on in the next. */
  rotate(): void {
    this.write({ type: 'segmentEnd', endUnixNano: `${this.startMs}000000`, rotated: true });
    this.save();
    this.#n += 1;
    this.#begin();
  }

  /** Closes the last file. */
  close(): string {
    this.write({ type: 'segmentEnd', endUnixNano: `${this.startMs}000000`, rotated: false });
    return this.save();
  }

  /** Writes a call; gives the snapshot that a reader must find. */
  call(call: TestCall = {}): Snapshot {
    const attempts = call.attempts ?? [{}];
    const start = BigInt(call.startMs ?? this.startMs + counter * 10) * 1_000_000n;
    const trace = {
      traceId: call.traceId ?? sha256(`trace ${call.spanId ?? counter}`).slice(0, 32),
      spanId: call.spanId ?? newSpanId(),
      ...(call.parentSpanId === undefined ? {} : { parentSpanId: call.parentSpanId }),
      sampled: true,
    };
    const exchanges: ExchangeRecords[] = [];
    const records: SegmentRecord[] = [];
    for (const attempt of attempts) {
      const made = this.#exchange(call, attempt, trace, start, exchanges.length);
      exchanges.push(made.exchange);
      records.push(...made.records);
    }
    const facts = {
      kind: call.kind ?? ('llm' as const),
      exchangeIds: exchanges.map((exchange) => exchange.start.exchangeId),
      ...(attempts.length > 1 ? { attemptsBasis: call.attemptsBasis ?? ('retry_header' as const) } : {}),
      ...(attempts.length > 1
        ? { attemptSpanIds: attempts.map((_, i) => sha256(`${trace.spanId}${i}`).slice(0, 16)) }
        : {}),
      trace,
      ...(call.session ? { session: call.session } : {}),
      time: { startUnixNano: String(start), endUnixNano: String(start + 5_000_000n) },
      ...(call.error ? { error: call.error } : {}),
      fidelity: { level: 'exact' as const },
    };
    const snapshot = buildCallSnapshot({ call: facts, exchanges, process: this.process }, sha256);
    const views = describeCall(snapshot, decodeContent);
    const chain = chainOf(views.request, views.response, sha256);
    const summary = entryOfSnapshot(snapshot, '').summary;
    const end: CallEndRecord = {
      type: 'callEnd',
      ...facts,
      chain,
      digest: snapshot.digest,
      ...(call.notKept ? {} : { key: snapshotKey(snapshot) }),
      sizeBytes: JSON.stringify(snapshot).length,
      summary: summary ?? { ending: 'complete', attempts: 1, stream: false },
      spans: [],
    };
    if (!call.open) records.push(end);
    for (const record of call.tamper?.(records) ?? records) this.write(record);
    return { ...snapshot, chain };
  }

  #exchange(
    call: TestCall,
    attempt: TestAttempt,
    trace: ExchangeStartRecord['trace'],
    start: bigint,
    index: number,
  ): { exchange: ExchangeRecords; records: SegmentRecord[] } {
    this.#exchangeId += 1;
    const exchangeId = this.#exchangeId;
    const first: ExchangeStartRecord = {
      type: 'exchangeStart',
      exchangeId,
      kind: call.kind ?? 'llm',
      trace,
      scope: call.scope ?? [],
      ...(call.session
        ? { session: { id: call.session.id, ...(call.session.userId ? { userId: call.session.userId } : {}) } }
        : {}),
      startUnixNano: String(start + BigInt(index) * 1_000_000n),
      client: 'undici',
      method: attempt.method ?? 'POST',
      url: attempt.url ?? 'https://api.openai.com/v1/chat/completions',
      ...(call.redactions && index === 0 ? { redactions: call.redactions } : {}),
    };
    const exchange = newExchangeRecords(first);
    const records: SegmentRecord[] = [first];
    const add = (record: ExchangePartRecord): void => {
      addToExchange(exchange, record);
      records.push(record);
    };
    const ending = attempt.ending ?? 'complete';
    const body = bytesOf(
      attempt.requestBody ?? JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hi' }] }),
    );
    if (ending !== 'connect_failed' || attempt.requestBody !== undefined) {
      const headers: HeaderList = attempt.requestHeaders ?? [
        ['host', 'api.openai.com'],
        ['content-type', 'application/json'],
        ['authorization', '{{secret:header.authorization}}'],
        ['content-length', String(body.length)],
      ];
      add({ type: 'requestHead', exchangeId, headers });
      if (body.length > 0) {
        add({
          type: 'requestChunk',
          exchangeId,
          offsetNano: 1000,
          delivery: 0,
          wireSizeBytes: body.length,
          bytes: body,
        });
      }
      add({ type: 'requestEnd', exchangeId, offsetNano: '1500' });
    }
    if (attempt.status !== undefined || attempt.response !== undefined || attempt.ending === undefined) {
      const status = attempt.status ?? 200;
      this.#delivery += 1;
      add({
        type: 'responseHead',
        exchangeId,
        status,
        statusText: attempt.statusText ?? (status === 200 ? 'OK' : ''),
        headers: attempt.responseHeaders ?? [['content-type', 'application/json']],
        offsetNano: '2000',
        delivery: this.#delivery,
      });
      for (const [i, chunk] of (attempt.response ?? [ANSWER]).entries()) {
        const bytes = bytesOf(chunk);
        this.#delivery += 1;
        add({
          type: 'responseChunk',
          exchangeId,
          offsetNano: 3000 + i,
          delivery: this.#delivery,
          wireSizeBytes: bytes.length,
          bytes,
        });
      }
    }
    if (!call.open) {
      add({
        type: 'exchangeEnd',
        exchangeId,
        offsetNano: '4000000',
        ending,
        stage: attempt.stage ?? 'done',
        ...(attempt.error ? { error: attempt.error } : {}),
        ...(attempt.storedDecoded ? { storedDecoded: attempt.storedDecoded } : {}),
      });
    }
    return { exchange, records };
  }

  /** Writes a tool execution. */
  tool(
    tool: Partial<ToolExecution>,
    options: { traceId?: string; session?: SessionRef; startMs?: number } = {},
  ): Snapshot {
    const start = BigInt(options.startMs ?? this.startMs + counter * 10) * 1_000_000n;
    const spanId = newSpanId();
    const facts = {
      trace: { traceId: options.traceId ?? sha256(`trace ${spanId}`).slice(0, 32), spanId, sampled: true },
      ...(options.session ? { session: options.session } : {}),
      scope: [],
      time: { startUnixNano: String(start), endUnixNano: String(start + 1_000_000n) },
      tool: { basis: 'wrapped' as const, name: 'get_weather', ...tool },
      fidelity: { level: 'exact' as const },
      redactions: [],
    };
    const snapshot = buildToolSnapshot(facts, this.process, sha256);
    this.write({
      type: 'tool',
      ...facts,
      digest: snapshot.digest,
      key: snapshotKey(snapshot),
      sizeBytes: JSON.stringify(snapshot).length,
      spans: [],
    });
    return snapshot;
  }
}

/** A plain chat answer. */
export const ANSWER: string = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_764_500_000,
  model: 'gpt-4o-mini-2024-07-18',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello there' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
});

function bytesOf(data: string | Uint8Array): Uint8Array {
  return typeof data === 'string' ? new TextEncoder().encode(data) : data;
}
