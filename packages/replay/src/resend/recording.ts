/** What was sent and what came back, as a snapshot like any other. */
import type { IncomingMessage } from 'node:http';
import { hostname } from 'node:os';
import { threadId } from 'node:worker_threads';
import {
  addToExchange,
  buildCallSnapshot,
  createRedactor,
  type ExchangeRecords,
  newExchangeRecords,
  type Redactor,
} from '@orangebox/codec';
import type { Ending, ErrorInfo, HeaderList, ProcessInfo, Redaction, Snapshot, Stage } from '@orangebox/schema';
import { sha256 } from '@orangebox/store';
import { VERSION } from '../version.ts';
import type { PlannedRequest } from './request-plan.ts';

/** Collects the records of one sending. */
export class Recording {
  readonly #planned: PlannedRequest;
  readonly #original: Snapshot;
  readonly #trace: { traceId: string; spanId: string; sampled: boolean };
  readonly #redactor: Redactor;
  readonly #startNano: bigint = BigInt(Date.now()) * 1_000_000n;
  readonly #origin: bigint = process.hrtime.bigint();
  readonly #bodyRedactor: ReturnType<Redactor['body']>;
  readonly #pending: { offsetNano: number; sizeBytes: number }[] = [];
  readonly #records: ExchangeRecords;
  #isTruncated = false;
  #delivery = 0;
  #error: ErrorInfo | undefined;

  constructor(planned: PlannedRequest, original: Snapshot, traceId: string, spanId: string) {
    this.#planned = planned;
    this.#original = original;
    this.#trace = { traceId, spanId, sampled: false };
    this.#redactor = createRedactor(planned.redaction);
    this.#bodyRedactor = this.#redactor.body('response.body');
    const { url, redactions } = this.#redactor.url(planned.url.href);
    this.#records = newExchangeRecords({
      type: 'exchangeStart',
      exchangeId: 1,
      kind: original.kind === 'http' ? 'http' : 'llm',
      trace: this.#trace,
      scope: [],
      startUnixNano: String(this.#startNano),
      client: 'http',
      method: planned.method,
      url,
      metadata: { 'orangebox.resend.of': original.id },
      ...redacted(redactions),
    });
  }

  get hasHead(): boolean {
    return this.#records.responseHead !== undefined;
  }

  #offset(): number {
    return Number(process.hrtime.bigint() - this.#origin);
  }

  /** The headers to send; what is noted of them has the credential replaced. */
  start(): HeaderList {
    const planned = this.#planned;
    const trace = this.#trace;
    const headers: HeaderList = [
      ['host', planned.url.host],
      ...planned.headers(trace.traceId, trace.spanId),
      ...(planned.body.length > 0 || planned.method === 'POST'
        ? [['content-length', String(planned.body.length)] as [string, string]]
        : []),
      ['connection', 'close'],
    ];
    const { headers: noted, redactions } = this.#redactor.headers(headers, 'request');
    addToExchange(this.#records, { type: 'requestHead', exchangeId: 1, headers: noted, ...redacted(redactions) });
    if (planned.body.length > 0) {
      addToExchange(this.#records, {
        type: 'requestChunk',
        exchangeId: 1,
        offsetNano: this.#offset(),
        delivery: 0,
        wireSizeBytes: planned.body.length,
        bytes: planned.body,
      });
    }
    return headers;
  }

  sent(): void {
    addToExchange(this.#records, { type: 'requestEnd', exchangeId: 1, offsetNano: String(this.#offset()) });
  }

  head(response: IncomingMessage): void {
    const list: HeaderList = [];
    for (let i = 0; i + 1 < response.rawHeaders.length; i += 2) {
      list.push([response.rawHeaders[i] ?? '', response.rawHeaders[i + 1] ?? '']);
    }
    const { headers, redactions } = this.#redactor.headers(list, 'response');
    const reason = this.#redactor.text(response.statusMessage ?? '', 'response.status');
    this.#delivery += 1;
    addToExchange(this.#records, {
      type: 'responseHead',
      exchangeId: 1,
      status: response.statusCode ?? 0,
      statusText: reason.text,
      httpVersion: response.httpVersion,
      headers,
      offsetNano: String(this.#offset()),
      delivery: this.#delivery,
      ...redacted([...redactions, ...reason.redactions]),
    });
  }

  chunk(bytes: Uint8Array): void {
    this.#pending.push({ offsetNano: this.#offset(), sizeBytes: bytes.length });
    this.#take(this.#bodyRedactor.push(bytes));
  }

  #take(chunks: readonly Uint8Array[]): void {
    for (const bytes of chunks) {
      const wire = this.#pending.shift();
      this.#delivery += 1;
      addToExchange(this.#records, {
        type: 'responseChunk',
        exchangeId: 1,
        offsetNano: wire?.offsetNano ?? this.#offset(),
        delivery: this.#delivery,
        wireSizeBytes: wire?.sizeBytes ?? bytes.length,
        bytes,
      });
    }
  }

  truncate(): void {
    this.#isTruncated = true;
  }

  end(ending: Ending, stage: Stage, error: Error | undefined): void {
    this.#take(this.#bodyRedactor.end());
    if (error) {
      const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
      const { text } = this.#redactor.text(error.message);
      this.#error = { stage, type: error.name, message: text, ...(code === undefined ? {} : { code }) };
    }
    addToExchange(this.#records, {
      type: 'exchangeEnd',
      exchangeId: 1,
      offsetNano: String(this.#offset()),
      ending,
      stage,
      ...(this.#error ? { error: this.#error } : {}),
      ...(this.#isTruncated ? { truncated: { response: true as const } } : {}),
      ...redacted(this.#bodyRedactor.redactions),
    });
  }

  snapshot(): Snapshot {
    const end = this.#startNano + BigInt(this.#records.end?.offsetNano ?? '0');
    return buildCallSnapshot(
      {
        call: {
          kind: this.#original.kind === 'http' ? 'http' : 'llm',
          exchangeIds: [1],
          trace: this.#trace,
          time: { startUnixNano: String(this.#startNano), endUnixNano: String(end) },
          ...(this.#error ? { error: this.#error } : {}),
          fidelity: { level: 'exact' },
        },
        exchanges: [this.#records],
        process: processInfo(),
      },
      sha256,
    );
  }
}

function redacted(redactions: readonly Redaction[]): { redactions?: Redaction[] } {
  return redactions.length > 0 ? { redactions: [...redactions] } : {};
}

/** This process, in the words in which recording ones describe themselves. */
function processInfo(): ProcessInfo {
  return {
    pid: process.pid,
    threadId,
    host: hostname(),
    node: process.version,
    orangebox: VERSION,
    serviceName: 'orangebox resend',
  };
}
