/** Records of a small recording in own words, for tests. */
import type {
  CallEndRecord,
  ChunkRecord,
  ExchangeStartRecord,
  ProcessInfo,
  SegmentRecord,
  ToolRecord,
} from '@orangebox/schema';
import { utf8 } from '../bytes.ts';

/** The process that the sample says it was recorded by. */
export const SAMPLE_PROCESS: ProcessInfo = {
  pid: 4711,
  threadId: 0,
  host: 'host.example',
  node: '20.19.0',
  orangebox: '0.1.0',
  serviceName: 'weather-agent',
  resource: { 'service.version': '1.2.3' },
};

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const START = 1_767_225_600_000_000_000n;

/** Start of an exchange. */
export function sampleStart(exchangeId: number, extra: Partial<ExchangeStartRecord> = {}): ExchangeStartRecord {
  return {
    type: 'exchangeStart',
    exchangeId,
    kind: 'llm',
    trace: { traceId: TRACE_ID, spanId: String(exchangeId).padStart(16, 'b'), sampled: true },
    scope: [{ kind: 'agent', name: 'weather', id: '1' }],
    session: { id: 'session-1', userId: 'user-1' },
    metadata: { plan: 'free' },
    startUnixNano: String(START + BigInt(exchangeId) * 1_000_000_000n),
    client: 'undici',
    method: 'POST',
    url: 'https://api.example.com/v1/chat/completions?key={{secret:key}}',
    redactions: [{ where: 'url', token: '{{secret:key}}', count: 1 }],
    ...extra,
  };
}

/** A chunk of a body. */
export function sampleChunk(
  type: ChunkRecord['type'],
  exchangeId: number,
  bytes: Uint8Array,
  offsetNano: number,
  delivery = 0,
): ChunkRecord {
  return { type, exchangeId, offsetNano, delivery, wireSizeBytes: bytes.length, bytes };
}

/** A call of two attempts: 429 with a plain body, then 200 with a stream that is split inside a character. */
export function sampleRecords(): SegmentRecord[] {
  const request = utf8('{"model":"sample-1","messages":[{"role":"user","content":"Wie ist das Wetter in Köln?"}]}');
  const answer = utf8('data: {"choices":[{"delta":{"content":"☀ 21 °C"}}]}\n\ndata: [DONE]\n\n');
  const split = answer.indexOf(0xe2) + 1;
  const headers: [string, string][] = [
    ['host', 'api.example.com'],
    ['Authorization', 'Bearer {{secret:authorization}}'],
  ];
  const redactions = [{ where: 'header:authorization', token: '{{secret:authorization}}', count: 1 }];
  const records: SegmentRecord[] = [
    { type: 'segmentStart', process: SAMPLE_PROCESS, startUnixNano: String(START), n: 0 },
    sampleStart(1),
    { type: 'requestHead', exchangeId: 1, headers, derivedHeaders: [0], redactions },
    sampleChunk('requestChunk', 1, request, 1000),
    { type: 'requestEnd', exchangeId: 1, offsetNano: '2000' },
    {
      type: 'responseHead',
      exchangeId: 1,
      status: 429,
      statusText: 'Too Many Requests',
      headers: [['retry-after', '0']],
      offsetNano: '3000',
      delivery: 1,
    },
    sampleChunk('responseChunk', 1, utf8('{"error":{"message":"slow down"}}'), 4000, 2),
    { type: 'exchangeEnd', exchangeId: 1, offsetNano: '5000', ending: 'complete', stage: 'done' },
    sampleStart(2),
    { type: 'requestHead', exchangeId: 2, headers, peer: { address: '192.0.2.1', port: 443 }, redactions },
    sampleChunk('requestChunk', 2, request, 1000),
    { type: 'requestEnd', exchangeId: 2, offsetNano: '2000' },
    {
      type: 'responseHead',
      exchangeId: 2,
      status: 200,
      statusText: 'OK',
      httpVersion: '1.1',
      headers: [
        ['content-type', 'text/event-stream'],
        ['set-cookie', 'a={{secret:set-cookie}}'],
        ['set-cookie', 'b={{secret:set-cookie.2}}'],
      ],
      offsetNano: '3000000',
      delivery: 3,
      redactions: [
        { where: 'header:set-cookie', token: '{{secret:set-cookie}}', count: 1 },
        { where: 'header:set-cookie', token: '{{secret:set-cookie.2}}', count: 1 },
      ],
    },
    sampleChunk('responseChunk', 2, answer.subarray(0, split), 4_000_000, 4),
    { ...sampleChunk('responseChunk', 2, answer.subarray(split), 5_000_000, 5), wireSizeBytes: 99 },
    { type: 'exchangeEnd', exchangeId: 2, offsetNano: '6000000', ending: 'complete', stage: 'done' },
  ];
  records.push(sampleCallEnd(), sampleTool());
  records.push(sampleStart(3, { url: 'https://api.example.com/v1/responses' }));
  records.push(sampleChunk('requestChunk', 3, Uint8Array.from([0xff, 0x00, 0x1f]), 700));
  return records;
}

function sampleCallEnd(): CallEndRecord {
  return {
    type: 'callEnd',
    kind: 'llm',
    exchangeIds: [1, 2],
    attemptsBasis: 'retry_header',
    attemptSpanIds: ['cccccccccccccc01', 'cccccccccccccc02'],
    trace: { traceId: TRACE_ID, spanId: 'b7ad6b7169203331', parentSpanId: '00f067aa0ba902b7', sampled: true },
    session: { id: 'session-1', seq: 0, basis: 'declared', userId: 'user-1' },
    chain: { before: '1'.repeat(64), after: '2'.repeat(64) },
    time: { startUnixNano: String(START + 1_000_000_000n), endUnixNano: String(START + 2_006_000_000n) },
    fidelity: { level: 'exact' },
    digest: '0'.repeat(64),
    sizeBytes: 2048,
    summary: { ending: 'complete', attempts: 2, stream: true, status: 200, model: 'sample-1' },
    spans: [],
  };
}

function sampleTool(): ToolRecord {
  return {
    type: 'tool',
    trace: { traceId: TRACE_ID, spanId: 'dddddddddddddd01', parentSpanId: 'b7ad6b7169203331', sampled: true },
    scope: [],
    time: { startUnixNano: String(START + 3_000_000_000n), endUnixNano: String(START + 3_000_500_000n) },
    tool: { basis: 'wrapped', name: 'weather', callId: 'call_1', arguments: '{"city":"Köln"}', result: '"21 °C"' },
    fidelity: { level: 'exact' },
    redactions: [],
    digest: '0'.repeat(64),
    sizeBytes: 512,
    spans: [],
  };
}
