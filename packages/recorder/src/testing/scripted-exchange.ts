/** Test help: plays exchanges into a sink as a tap would, and reads the segments back. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildCallSnapshot, type CollectedRecords, collectRecords, decodeBody, decodeSegment } from '@orangebox/codec';
import type { CallEndRecord, HeaderList, SegmentRecord, Snapshot } from '@orangebox/schema';
import { parseSegmentFileName } from '@orangebox/schema';
import { loadFinisher } from '../load-finisher.ts';
import { createRecorder, type Recorder, type RecorderOptions } from '../recorder.ts';
import { sha256Hex } from '../sha256.ts';
import { type CallSpans, idOnlySpans } from '../spans.ts';
import type { CallContext, WireEnd, WireExchange, WireSink } from '../wire-events.ts';

// Tests read back in the turn in which they play; sources do not load that fast.
await loadFinisher();

/** What an exchange carries; defaults are a plain chat call that succeeds. */
export interface Script {
  kind?: 'llm' | 'http';
  method?: string;
  url?: string;
  requestHeaders?: HeaderList;
  requestChunks?: Uint8Array[];
  /** False: the request never left; neither head nor body nor end are told. */
  sent?: boolean;
  status?: number;
  responseHeaders?: HeaderList;
  responseChunks?: Uint8Array[];
  end?: WireEnd;
  context?: Partial<CallContext>;
  startUnixNano?: bigint;
  durationNano?: number;
}

const NO_CONTEXT: CallContext = { scope: [], place: undefined };
const CHAT_URL = 'https://api.example.test/v1/chat/completions';
let deliveries = 0;
let clock = 1_800_000_000_000_000_000n;

/** Bytes of a text. */
export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Opens an exchange and sends its request. */
export function openExchange(sink: WireSink, script: Script = {}): WireExchange {
  clock += 1_000_000n;
  const exchange = sink.open({
    kind: script.kind ?? 'llm',
    client: 'undici',
    method: script.method ?? 'POST',
    url: script.url ?? CHAT_URL,
    startUnixNano: script.startUnixNano ?? clock,
    context: { ...NO_CONTEXT, ...script.context },
  });
  if (script.sent === false) return exchange;
  exchange.requestHead(script.requestHeaders ?? [['content-type', 'application/json']], []);
  for (const chunk of script.requestChunks ?? [chatRequest([{ role: 'user', content: 'hi' }])]) {
    exchange.requestChunk(chunk, 1000);
  }
  exchange.requestEnd(2000);
  return exchange;
}

/** Plays the answer and the end. */
export function answer(exchange: WireExchange, script: Script = {}): void {
  const done = script.durationNano ?? 900_000;
  if (script.status !== 0) {
    exchange.responseHead({
      status: script.status ?? 200,
      statusText: 'OK',
      httpVersion: '1.1',
      headers: script.responseHeaders ?? [['content-type', 'application/json']],
      atNano: 10_000,
      delivery: ++deliveries,
    });
    for (const chunk of script.responseChunks ?? [chatResponse('hello')]) {
      exchange.responseChunk(chunk, 20_000, ++deliveries);
    }
  }
  exchange.end(script.end ?? { ending: 'complete', stage: 'done' }, done);
}

/** A whole exchange. */
export function play(sink: WireSink, script: Script = {}): void {
  answer(openExchange(sink, script), script);
}

/** Body of a chat request. */
export function chatRequest(messages: object[], more: object = {}): Uint8Array {
  return bytes(JSON.stringify({ model: 'gpt-test', messages, ...more }));
}

/** Body of a chat answer. */
export function chatResponse(
  content: string | null,
  toolCalls?: { id: string; name: string; arguments: string }[],
): Uint8Array {
  const calls = toolCalls?.map((call) => ({
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: call.arguments },
  }));
  return bytes(
    JSON.stringify({
      id: `chatcmpl-${Math.random()}`,
      object: 'chat.completion',
      model: 'gpt-test-2',
      choices: [
        {
          index: 0,
          finish_reason: calls ? 'tool_calls' : 'stop',
          message: { role: 'assistant', content, ...(calls ? { tool_calls: calls } : {}) },
        },
      ],
      usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
    }),
  );
}

/** A recorder in a directory of its own. */
export interface TestRecorder {
  recorder: Recorder;
  dir: string;
  warnings: string[];
  /** Ends the recorder as the exit of the process does, and reads everything back. */
  finish(): CollectedRecords;
  read(): CollectedRecords;
  dispose(): void;
}

/** Makes one; `env` without ORANGEBOX_DIR gets a fresh directory. */
export function testRecorder(env: Record<string, string> = {}, options: Partial<RecorderOptions> = {}): TestRecorder {
  const root = mkdtempSync(join(tmpdir(), 'orangebox-recorder-'));
  const dir = env['ORANGEBOX_DIR'] ?? join(root, 'box');
  const warnings: string[] = [];
  const recorder = createRecorder({
    env: { ORANGEBOX_DIR: dir, ...env },
    writeWarning: (line) => warnings.push(line),
    ...options,
  });
  const read = (): CollectedRecords => collectRecords(readRecords(dir));
  return {
    recorder,
    dir,
    warnings,
    read,
    finish: () => {
      recorder.flushSync('process_exit');
      return read();
    },
    dispose: () => rmSync(root, { recursive: true, force: true }),
  };
}

/** Paths of all segment files, in order. */
export function segmentPaths(dir: string): string[] {
  const base = join(dir, 'segments');
  const names = readdirSync(base).flatMap((date) =>
    readdirSync(join(base, date)).map((name) => join(base, date, name)),
  );
  const n = (path: string): number => parseSegmentFileName(path.split('/').at(-1) ?? '')?.n ?? -1;
  return names.sort((a, b) => n(a) - n(b));
}

/** All records of a directory. */
export function readRecords(dir: string): SegmentRecord[] {
  return segmentPaths(dir).flatMap((path) => [...decodeSegment(readFileSync(path))].map(({ record }) => record));
}

/** The snapshot that a reader makes of a recorded call. */
export function snapshotOf(records: CollectedRecords, call: CallEndRecord | undefined): Snapshot {
  if (!call || !records.process) throw new Error('no such call');
  const exchanges = call.exchangeIds.flatMap((id) => records.exchanges.get(id) ?? []);
  return buildCallSnapshot({ call, exchanges, process: records.process }, sha256Hex);
}

/** Text of a response body. */
export function responseText(snapshot: Snapshot, exchange = 0): string {
  const body = snapshot.exchanges[exchange]?.response?.body;
  return body ? new TextDecoder().decode(decodeBody(body)) : '';
}

/** Text of a request body. */
export function requestText(snapshot: Snapshot, exchange = 0): string {
  const body = snapshot.exchanges[exchange]?.request.body;
  return body ? new TextDecoder().decode(decodeBody(body)) : '';
}
/** Spans that only have ids, and note with what they end. */
export function spansThatNote(ended: unknown[]): CallSpans {
  return { ...idOnlySpans(), end: (_, facts) => void ended.push(facts) };
}
