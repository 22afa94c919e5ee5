/** Writes recordings for tests of the command: segments as a recording process would leave them. */
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  buildCallSnapshot,
  buildToolSnapshot,
  type CallFacts,
  collectRecords,
  encodeRecord,
  encodeSegmentHeader,
  withViews,
} from '@orangebox/codec';
import {
  type CallEndRecord,
  type Ending,
  type HeaderList,
  type Json,
  type ProcessInfo,
  type ScopeFrame,
  SEGMENTS_DIRECTORY,
  type SegmentRecord,
  type SessionRef,
  type Snapshot,
  segmentFileName,
  snapshotKey,
  type ToolExecution,
} from '@orangebox/schema';
import { decodeContent } from '@orangebox/store';

const sha256 = (data: Uint8Array | string): string => createHash('sha256').update(data).digest('hex');

/** One attempt of a call to be written. */
export interface FakeAttempt {
  status?: number;
  /** A body, or the chunks it came in. */
  response?: Json | string | readonly string[];
  responseHeaders?: HeaderList;
  ending?: Ending;
  error?: { type: string; message: string; code?: string };
}

/** A call to be written. */
export interface FakeCall extends FakeAttempt {
  url?: string;
  method?: string;
  request?: Json | string;
  requestHeaders?: HeaderList;
  earlierAttempts?: FakeAttempt[];
  session?: SessionRef;
  scope?: ScopeFrame[];
  traceId?: string;
  parentSpanId?: string;
  /** Milliseconds before `nowMs` at which it started; 60,000 by default. */
  agoMs?: number;
  tookMs?: number;
  /** No end on record, as after a crash. */
  crashed?: boolean;
}

/** Collects records and writes them as one segment. */
export class Recording {
  readonly directory: string;
  readonly process: ProcessInfo = {
    pid: 4242,
    threadId: 0,
    host: 'testhost',
    node: '20.19.0',
    orangebox: '0.1.0',
    serviceName: 'weather-agent',
  };
  readonly #records: SegmentRecord[] = [];
  readonly #nowMs = Date.now();
  #exchangeId = 0;
  #ids = 0;
  #delivery = 0;

  constructor(directory: string) {
    this.directory = directory;
    const startUnixNano = nano(this.#nowMs - 3_600_000);
    this.#records.push({ type: 'segmentStart', process: this.process, startUnixNano, n: 0 });
  }

  /** Ids made from a counter, so that they differ from the first digit on. */
  id(length: 16 | 32): string {
    return sha256(`id ${this.#ids++}`).slice(0, length);
  }

  /** Adds a call and gives its snapshot. */
  call(call: FakeCall): Snapshot {
    const startMs = this.#nowMs - (call.agoMs ?? 60_000);
    const tookMs = call.tookMs ?? 1240;
    const trace = {
      traceId: call.traceId ?? this.id(32),
      spanId: this.id(16),
      ...(call.parentSpanId === undefined ? {} : { parentSpanId: call.parentSpanId }),
      sampled: true,
    };
    const attempts = [...(call.earlierAttempts ?? []), call];
    const mine: SegmentRecord[] = [];
    const exchangeIds = attempts.map((attempt, i) => {
      const exchangeId = ++this.#exchangeId;
      mine.push(...this.#exchange(exchangeId, call, attempt, trace, startMs + i * 1500, tookMs));
      return exchangeId;
    });
    this.#records.push(...mine);
    const ending = call.ending ?? 'complete';
    const endMs = startMs + (attempts.length - 1) * 1500 + tookMs;
    const facts: CallFacts = {
      kind: 'llm',
      exchangeIds,
      ...(attempts.length > 1
        ? { attemptsBasis: 'retry_header' as const, attemptSpanIds: attempts.map(() => this.id(16)) }
        : {}),
      trace,
      ...(call.session ? { session: call.session } : {}),
      time: { startUnixNano: nano(startMs), endUnixNano: nano(endMs) },
      ...(call.error ? { error: { stage: 'response_head' as const, ...call.error } } : {}),
      fidelity: { level: 'exact' },
    };
    const collected = collectRecords(mine);
    const snapshot = buildCallSnapshot(
      { call: facts, exchanges: [...collected.exchanges.values()], process: this.process },
      sha256,
    );
    if (call.crashed === true) return snapshot;
    const viewed = withViews(snapshot, decodeContent);
    const usage = viewed.response?.usage;
    const record: CallEndRecord = {
      type: 'callEnd',
      ...facts,
      digest: snapshot.digest,
      key: snapshotKey(snapshot),
      sizeBytes: JSON.stringify(snapshot).length,
      summary: {
        operation: viewed.call?.operation ?? 'chat',
        provider: viewed.call?.provider ?? 'openai',
        api: viewed.call?.api ?? 'openai.chat',
        ...(viewed.call?.requestModel === undefined ? {} : { model: viewed.call.requestModel }),
        ...(call.status === undefined && call.response === undefined ? {} : { status: call.status ?? 200 }),
        ending,
        attempts: attempts.length,
        stream: viewed.call?.stream ?? false,
        ...(usage?.inputTokens === undefined ? {} : { inputTokens: usage.inputTokens }),
        ...(usage?.outputTokens === undefined ? {} : { outputTokens: usage.outputTokens }),
        timeToFirstChunkNano: '340000000',
        toolCalls: (viewed.response?.toolCalls ?? []).map((t) => ({
          ...(t.id === undefined ? {} : { id: t.id }),
          name: t.name,
        })),
        finishReasons: viewed.response?.finishReasons ?? [],
      },
      spans: [],
    };
    this.#records.push(record);
    return snapshot;
  }

  /** Adds a tool's run. */
  tool(
    tool: ToolExecution,
    place: { traceId: string; parentSpanId: string; session?: SessionRef; agoMs?: number },
  ): Snapshot {
    const startMs = this.#nowMs - (place.agoMs ?? 50_000);
    const facts = {
      trace: { traceId: place.traceId, spanId: this.id(16), parentSpanId: place.parentSpanId, sampled: true },
      ...(place.session ? { session: place.session } : {}),
      scope: [],
      time: { startUnixNano: nano(startMs), endUnixNano: nano(startMs + 85) },
      tool,
      fidelity: { level: 'exact' as const },
      redactions: [],
    };
    const snapshot = buildToolSnapshot(facts, this.process, sha256);
    this.#records.push({
      type: 'tool',
      ...facts,
      digest: snapshot.digest,
      key: snapshotKey(snapshot),
      sizeBytes: 400,
      spans: [],
    });
    return snapshot;
  }

  /** Adds any other record. */
  add(record: SegmentRecord): void {
    this.#records.push(record);
  }

  /** The segment's bytes so far, closed in order unless told otherwise. */
  bytes(closed = true): Buffer {
    const records = closed
      ? [...this.#records, { type: 'segmentEnd' as const, endUnixNano: nano(this.#nowMs), rotated: false }]
      : this.#records;
    return Buffer.concat([encodeSegmentHeader(), ...records.map((record) => encodeRecord(record))]);
  }

  /** Writes the segment and gives its path. */
  write(bytes: Uint8Array = this.bytes()): string {
    const folder = join(this.directory, SEGMENTS_DIRECTORY, new Date(this.#nowMs).toISOString().slice(0, 10));
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(join(this.directory, '.gitignore'), '*\n', { mode: 0o600 });
    const name = segmentFileName({
      host: 'testhost',
      pid: 4_194_303,
      threadId: 0,
      startUnixMs: this.#nowMs - 3_600_000,
      n: 0,
    });
    const path = join(folder, name);
    writeFileSync(path, bytes, { mode: 0o600 });
    return path;
  }

  #exchange(
    exchangeId: number,
    call: FakeCall,
    attempt: FakeAttempt,
    trace: { traceId: string; spanId: string; sampled: boolean },
    startMs: number,
    tookMs: number,
  ): SegmentRecord[] {
    const body = text(call.request ?? { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] });
    const ending = attempt.ending ?? 'complete';
    const records: SegmentRecord[] = [
      {
        type: 'exchangeStart',
        exchangeId,
        kind: 'llm',
        trace,
        scope: call.scope ?? [],
        startUnixNano: nano(startMs),
        client: 'undici',
        method: call.method ?? 'POST',
        url: call.url ?? 'https://api.openai.com/v1/chat/completions',
      },
      {
        type: 'requestHead',
        exchangeId,
        headers: call.requestHeaders ?? [
          ['content-type', 'application/json'],
          ['authorization', 'Bearer {{secret:authorization}}'],
        ],
        redactions: [{ where: 'header:authorization', token: '{{secret:authorization}}', count: 1 }],
      },
      chunk('requestChunk', exchangeId, 1e5, 0, body),
      { type: 'requestEnd', exchangeId, offsetNano: '200000' },
    ];
    if (attempt.response !== undefined || attempt.status !== undefined) {
      const pieces =
        Array.isArray(attempt.response) && attempt.response.every((p) => typeof p === 'string')
          ? attempt.response
          : [text((attempt.response ?? '') as Json)];
      const type = pieces.length > 1 ? 'text/event-stream' : 'application/json';
      records.push({
        type: 'responseHead',
        exchangeId,
        status: attempt.status ?? 200,
        statusText: STATUS_TEXT[attempt.status ?? 200] ?? '',
        headers: attempt.responseHeaders ?? [['content-type', type]],
        offsetNano: '300000000',
        delivery: ++this.#delivery,
      });
      for (const [i, piece] of pieces.entries()) {
        records.push(chunk('responseChunk', exchangeId, 34e7 + i * 1e7, ++this.#delivery, piece));
      }
    }
    if (call.crashed === true) return records;
    records.push({
      type: 'exchangeEnd',
      exchangeId,
      offsetNano: String(tookMs * 1e6),
      ending,
      stage: ending === 'complete' ? 'done' : 'response_body',
      ...(attempt.error ? { error: { stage: 'response_body' as const, ...attempt.error } } : {}),
    });
    return records;
  }
}

const STATUS_TEXT: { readonly [status: number]: string } = {
  200: 'OK',
  401: 'Unauthorized',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
};

function nano(ms: number): string {
  return String(BigInt(Math.round(ms)) * 1_000_000n);
}

function text(body: Json | string): string {
  return typeof body === 'string' ? body : JSON.stringify(body);
}

function chunk(
  type: 'requestChunk' | 'responseChunk',
  exchangeId: number,
  offsetNano: number,
  delivery: number,
  body: string,
): SegmentRecord {
  const bytes = new TextEncoder().encode(body);
  return { type, exchangeId, offsetNano, delivery, wireSizeBytes: bytes.length, bytes };
}

/** A chat completion with text or tool calls. */
export function chatAnswer(message: {
  content?: string;
  toolCalls?: { id: string; name: string; arguments: string }[];
}): Json {
  return {
    id: 'chatcmpl-test1',
    object: 'chat.completion',
    created: 1_772_000_000,
    model: 'gpt-4o-mini-2024-07-18',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: message.content ?? null,
          ...(message.toolCalls
            ? {
                tool_calls: message.toolCalls.map((t) => ({
                  id: t.id,
                  type: 'function',
                  function: { name: t.name, arguments: t.arguments },
                })),
              }
            : {}),
        },
        finish_reason: message.toolCalls ? 'tool_calls' : 'stop',
      },
    ],
    usage: { prompt_tokens: 812, completion_tokens: 64, total_tokens: 876 },
  };
}

/** Ids of the calls that {@link writeAgentRun} wrote. */
export interface AgentRun {
  segment: string;
  first: Snapshot;
  second: Snapshot;
  streamed: Snapshot;
  failed: Snapshot;
  tool: Snapshot;
  sessionId: string;
}

/** A small agent's run: a tool loop of two calls, a streamed answer, a failing call. */
export function writeAgentRun(directory: string): AgentRun {
  const recording = new Recording(directory);
  const sessionId = 'trip-7';
  const session = (seq: number): SessionRef => ({ id: sessionId, seq, basis: 'declared', userId: 'mia' });
  const traceId = recording.id(32);
  const system = { role: 'system', content: 'You are a weather assistant.' };
  const question = { role: 'user', content: 'Do I need an umbrella in Oslo and Rome?' };
  const asked = [
    { id: 'call_oslo', name: 'get_weather', arguments: '{"city":"Oslo","unit":"celsius"}' },
    { id: 'call_rome', name: 'get_weather', arguments: '{"city":"Rome","unit":"celsius"}' },
  ];
  const tools = [{ type: 'function', function: { name: 'get_weather', parameters: { type: 'object' } } }];
  const first = recording.call({
    traceId,
    session: session(0),
    scope: [{ kind: 'agent', name: 'planner', id: 'a1' }],
    agoMs: 300_000,
    request: { model: 'gpt-4o-mini', messages: [system, question], tools },
    response: chatAnswer({ toolCalls: asked }),
  });
  const tool = recording.tool(
    {
      basis: 'wrapped',
      name: 'get_weather',
      callId: 'call_oslo',
      arguments: '[{"city":"Oslo"}]',
      result: '{"rain":true,"temperature":4}',
      askedBy: first.id,
    },
    { traceId, parentSpanId: first.id, session: session(0), agoMs: 298_000 },
  );
  const assistant = {
    role: 'assistant',
    content: null,
    tool_calls: asked.map((t) => ({ id: t.id, type: 'function', function: { name: t.name, arguments: t.arguments } })),
  };
  const second = recording.call({
    traceId,
    parentSpanId: first.id,
    session: session(1),
    scope: [{ kind: 'agent', name: 'planner', id: 'a1' }],
    agoMs: 290_000,
    request: {
      model: 'gpt-4o-mini',
      messages: [
        system,
        question,
        assistant,
        { role: 'tool', tool_call_id: 'call_oslo', content: '{"rain":true,"temperature":4}' },
        { role: 'tool', tool_call_id: 'call_rome', content: '{"rain":false,"temperature":19}' },
      ],
      tools,
    },
    response: chatAnswer({ content: 'Take one to Oslo.\n\nLeave it at home for Rome.' }),
    earlierAttempts: [
      {
        status: 429,
        response: { error: { message: 'Rate limit reached', type: 'requests', code: 'rate_limit_exceeded' } },
        responseHeaders: [['retry-after', '1']],
      },
    ],
  });
  const delta = (content: string): string =>
    `data: ${JSON.stringify({ id: 'chatcmpl-s', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o-mini', choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason: null }] })}\n\n`;
  const streamed = recording.call({
    agoMs: 200_000,
    request: { model: 'gpt-4o-mini', stream: true, messages: [{ role: 'user', content: 'Count to three' }] },
    response: [
      delta('one '),
      delta('two '),
      delta('three'),
      `data: ${JSON.stringify({ id: 'chatcmpl-s', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o-mini', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\n`,
      'data: [DONE]\n\n',
    ],
  });
  const failed = recording.call({
    agoMs: 100_000,
    status: 401,
    request: { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hi' }] },
    response: {
      error: { message: 'Incorrect API key provided', type: 'invalid_request_error', code: 'invalid_api_key' },
    },
    error: { type: '401', message: 'Incorrect API key provided' },
  });
  const segment = recording.write();
  return { segment, first, second, streamed, failed, tool, sessionId };
}
