/** Sends one planned request and records what comes back, as a snapshot like any other. */
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { hostname } from 'node:os';
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
import { newId, type PlannedRequest } from './request-plan.ts';

/** Largest answer that is taken; the rest is cut off. */
const RESPONSE_MAX_BYTES: number = 256 * 1024 * 1024;

/** How a request is sent. */
export interface SendOptions {
  timeoutMs: number;
  signal?: AbortSignal;
  /** The call that is sent again. */
  original: Snapshot;
}

/** Sends a request once. Redirects are not followed: what answers is what the plan named. Never rejects. */
export async function sendOnce(planned: PlannedRequest, options: SendOptions): Promise<Snapshot> {
  const traceId = newId(16);
  const spanId = newId(8);
  const recording = new Recording(planned, options.original, traceId, spanId);
  const headers = recording.start();
  let request: ClientRequest;
  try {
    request = openRequest(planned, headers);
  } catch (error) {
    recording.end('error', 'connect', error instanceof Error ? error : new Error(String(error)));
    return recording.snapshot();
  }
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => request.destroy(timeoutError(options.timeoutMs)), options.timeoutMs);
    const abort = (): void => void request.destroy(new DOMException('This operation was aborted', 'AbortError'));
    const finish = (ending: Ending, stage: Stage, error?: Error): void => {
      clearTimeout(timer);
      options.signal?.removeEventListener('abort', abort);
      recording.end(ending, stage, error);
      resolve();
    };
    options.signal?.addEventListener('abort', abort, { once: true });
    let isConnected = false;
    request.on('socket', (socket) => {
      socket.once(planned.url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
        isConnected = true;
      });
    });
    request.once('finish', () => recording.sent());
    // Errors after the head are the response's to tell; the listener stays, so that none is unhandled.
    request.on('error', (error) => {
      if (recording.hasHead) return;
      finish(
        endingOf(error, isConnected ? 'reset' : 'connect_failed'),
        isConnected ? 'response_head' : 'connect',
        error,
      );
    });
    request.once('response', (response) => readResponse(response, recording, finish));
    request.end(planned.body);
  });
  return recording.snapshot();
}

function openRequest({ url, method }: PlannedRequest, headers: HeaderList): ClientRequest {
  const open = url.protocol === 'https:' ? httpsRequest : httpRequest;
  // The flat list keeps order and duplicates; the connection is not kept for anything else.
  return open(url, { method, headers: headers.flat() as never, agent: false });
}

function timeoutError(timeoutMs: number): Error {
  const error: Error & { code?: string } = new Error(`no whole answer within ${timeoutMs} ms`);
  error.code = 'ETIMEDOUT';
  return error;
}

function endingOf(error: Error, otherwise: Ending): Ending {
  if (error.name === 'AbortError') return 'caller_abort';
  return 'code' in error && error.code === 'ETIMEDOUT' ? 'timeout' : otherwise;
}

function readResponse(
  response: IncomingMessage,
  recording: Recording,
  finish: (ending: Ending, stage: Stage, error?: Error) => void,
): void {
  recording.head(response);
  let size = 0;
  let isTooLarge = false;
  let fault: Error | undefined;
  response.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= RESPONSE_MAX_BYTES) recording.chunk(chunk);
    else {
      isTooLarge = true;
      response.destroy();
    }
  });
  response.on('error', (error) => {
    fault = error;
  });
  response.once('close', () => {
    if (isTooLarge) recording.truncate();
    if (response.complete) finish('complete', 'done');
    else if (isTooLarge) finish('caller_stopped_reading', 'response_body');
    else finish(fault ? endingOf(fault, 'cut') : 'cut', 'response_body', fault ?? new Error('the connection was cut'));
  });
}

/** Collects the records of one sending. */
class Recording {
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
    this.#redactor = createRedactor({ secrets: planned.secrets });
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
    const { planned, trace } = { planned: this.#planned, trace: this.#trace };
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
    this.#delivery += 1;
    addToExchange(this.#records, {
      type: 'responseHead',
      exchangeId: 1,
      status: response.statusCode ?? 0,
      statusText: response.statusMessage ?? '',
      httpVersion: response.httpVersion,
      headers,
      offsetNano: String(this.#offset()),
      delivery: this.#delivery,
      ...redacted(redactions),
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
        process: processInfo(this.#original),
      },
      sha256,
    );
  }
}

function redacted(redactions: readonly Redaction[]): { redactions?: Redaction[] } {
  return redactions.length > 0 ? { redactions: [...redactions] } : {};
}

function processInfo(original: Snapshot): ProcessInfo {
  return {
    pid: process.pid,
    threadId: 0,
    host: hostname(),
    node: process.versions.node,
    orangebox: original.process.orangebox,
    serviceName: 'orangebox resend',
  };
}
