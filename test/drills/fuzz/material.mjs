/** What is mutated: recorded exchanges where the corpus is there, else own ones of each protocol; and records made of them. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { buildMeasuredCall, collectRecords, decodeSegment } from '@orangebox/codec';
import { snapshotKey } from '@orangebox/schema';
import { bodyBytes, hasCorpus, loadCorpus } from '../../corpus/load.mjs';

/** Hashes as readers do. */
export const sha256 = (data) => createHash('sha256').update(data).digest('hex');

/** Largest exchange that is mutated: time goes into many inputs, not into long ones. */
const MAX_BYTES = 2_000;
/** Exchanges of one protocol and form. */
const OF_EACH = 6;

const json = (value) => Buffer.from(JSON.stringify(value));
const sse = (...events) =>
  Buffer.from(`${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')}data: [DONE]\n\n`);
const chatRequest = {
  model: 'm',
  messages: [
    { role: 'user', content: [{ type: 'text', text: 'q ☀' }] },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
    },
    { role: 'tool', tool_call_id: 'c', content: 'r' },
  ],
  tools: [{ type: 'function', function: { name: 'f', strict: true } }],
};

const own = [
  [
    'https://a.test/v1/chat/completions',
    json(chatRequest),
    json({
      id: 'a',
      choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1 },
    }),
  ],
  [
    'https://a.test/v1/chat/completions',
    json({ ...chatRequest, stream: true }),
    sse(
      {
        id: 'a',
        choices: [
          {
            index: 0,
            delta: {
              role: 'assistant',
              content: '☀',
              tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '{' } }],
            },
          },
        ],
      },
      { id: 'a', choices: [{ index: 1, delta: { content: 'y' }, finish_reason: 'stop' }], usage: { total_tokens: 3 } },
    ),
  ],
  [
    'https://a.test/v1/responses',
    json({ model: 'm', input: [{ role: 'user', content: 'q' }], stream: true }),
    sse(
      { type: 'response.created', response: { id: 'r', output: [] } },
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { type: 'message', content: [{ type: 'output_text', text: '' }] },
      },
      { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'x' },
      {
        type: 'response.completed',
        response: { id: 'r', output: [{ type: 'function_call', arguments: '{}', name: 'f' }] },
      },
    ),
  ],
  [
    'https://a.test/v1/messages',
    json({ model: 'm', messages: [{ role: 'user', content: 'q' }] }),
    sse(
      { type: 'message_start', message: { content: [], usage: {} } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'x' } },
    ),
  ],
  [
    'https://a.test/v1beta/models/m:generateContent',
    json({ contents: [{ parts: [{ text: 'q' }] }] }),
    json({ candidates: [{ content: { parts: [{ text: 'x' }] } }], usageMetadata: { promptTokenCount: 1 } }),
  ],
  [
    'https://a.test/model/m/converse',
    json({ messages: [{ role: 'user', content: [{ text: 'q' }] }] }),
    json({ output: { message: { content: [{ toolUse: { input: {} } }] } }, usage: { inputTokens: 1 } }),
  ],
  [
    'https://a.test/v1/embeddings',
    json({ model: 'm', input: ['q'] }),
    json({ object: 'list', data: [{ embedding: [1, 2] }, { embedding: 'AAAA' }] }),
  ],
].map(([url, request, response]) => ({
  method: 'POST',
  url,
  requestType: 'application/json',
  responseType: response.subarray(0, 5).toString() === 'data:' ? 'text/event-stream' : 'application/json',
  status: 200,
  request,
  response,
}));

function recorded() {
  const counts = new Map();
  const found = [];
  for (const line of loadCorpus()) {
    const [request, response] = [bodyBytes(line.request), bodyBytes(line.response)];
    if (request.length + response.length > MAX_BYTES) continue;
    const kind = `${line.api} ${line.stream}`;
    const count = counts.get(kind) ?? 0;
    if (count >= OF_EACH) continue;
    counts.set(kind, count + 1);
    found.push({
      method: line.request.method,
      url: line.request.origin + line.request.path,
      requestType: line.request.headers['content-type'] ?? 'application/json',
      responseType: line.response.headers['content-type'] ?? 'application/json',
      status: line.response.status,
      request,
      response,
    });
  }
  return found;
}

/** The exchanges that are mutated: `{method, url, requestType, responseType, status, request, response}`. */
export const exchanges = hasCorpus() ? [...own, ...recorded()] : own;

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PROCESS = { pid: 4711, threadId: 0, host: 'host.test', node: '20.19.0', orangebox: '0.1.0', serviceName: 'fuzz' };
const START = 1_767_225_600_000_000_000n;

function* chunksOf(type, exchangeId, bytes) {
  const step = Math.max(1, Math.ceil(bytes.length / 3));
  for (let at = 0; at < bytes.length; at += step) {
    const part = bytes.subarray(at, at + step);
    const delivery = type === 'requestChunk' ? 0 : at + 2;
    yield { type, exchangeId, offsetNano: 1000 + at, delivery, wireSizeBytes: part.length, bytes: part };
  }
}

/** The records of a call of one exchange, with the digest that its bytes have. */
function callRecords({ method, url, requestType, responseType, status, request, response }, exchangeId) {
  const trace = { traceId: TRACE, spanId: exchangeId.toString(16).padStart(16, 'b'), sampled: true };
  const startUnixNano = String(START + BigInt(exchangeId) * 1_000_000n);
  const records = [
    {
      type: 'exchangeStart',
      exchangeId,
      kind: 'llm',
      trace,
      scope: [{ kind: 'agent', name: 'a', id: '1' }],
      startUnixNano,
      client: 'undici',
      method,
      url,
    },
    {
      type: 'requestHead',
      exchangeId,
      headers: [['content-type', requestType]],
      peer: { address: '192.0.2.1', port: 443 },
    },
    ...chunksOf('requestChunk', exchangeId, request),
    { type: 'requestEnd', exchangeId, offsetNano: '2000' },
    {
      type: 'responseHead',
      exchangeId,
      status,
      statusText: 'OK',
      headers: [['content-type', responseType]],
      offsetNano: '3000',
      delivery: 1,
    },
    ...chunksOf('responseChunk', exchangeId, response),
    { type: 'exchangeEnd', exchangeId, offsetNano: '90000', ending: 'complete', stage: 'done' },
  ];
  const call = {
    type: 'callEnd',
    kind: 'llm',
    exchangeIds: [exchangeId],
    trace,
    session: { id: 's', seq: exchangeId, basis: 'inferred' },
    time: { startUnixNano, endUnixNano: String(BigInt(startUnixNano) + 90_000n) },
    fidelity: { level: 'exact' },
    digest: '',
    sizeBytes: 0,
    summary: { ending: 'complete', attempts: 1, stream: false, status, toolCalls: [{ name: 'f' }] },
    spans: [{ traceId: TRACE }],
    spansBy: 'orangebox',
  };
  const of = collectRecords(records).exchanges.get(exchangeId);
  const { snapshot, sizeBytes } = buildMeasuredCall({ call, exchanges: [of], process: PROCESS }, sha256);
  return [...records, { ...call, digest: snapshot.digest, sizeBytes, key: snapshotKey(snapshot) }];
}

/** Records that no exchange makes, the latest types among them. */
function otherRecords() {
  const key = `v1/20260101/${TRACE}/${'b'.repeat(16)}/${'0'.repeat(16)}`;
  const trace = { traceId: TRACE, spanId: 'dddddddddddddd01', parentSpanId: 'b7ad6b7169203331', sampled: true };
  const time = { startUnixNano: String(START), endUnixNano: String(START + 5n) };
  return [
    {
      type: 'tool',
      trace,
      scope: [],
      time,
      tool: { basis: 'wrapped', name: 'w', callId: 'c', arguments: '{"city":"Köln"}', result: '"x"' },
      fidelity: { level: 'exact' },
      redactions: [],
      digest: '0'.repeat(64),
      sizeBytes: 9,
      spans: [],
      spansBy: 'application',
    },
    { type: 'shipped', key },
    { type: 'quarantined', key, reason: 'status 413', atUnixNano: String(START) },
    { type: 'spansSent', spanIds: ['b'.repeat(16), 'dddddddddddddd01'] },
    { type: 'forgotten', exchangeIds: [2, 3, 99] },
    { type: 'dropped', reason: 'dir_bytes', count: 3, message: 'm' },
    { type: 'segmentEnd', endUnixNano: String(START + 9n), rotated: false },
  ];
}

/** Lists of records; a segment is made of some of them. Numbers of exchanges are those of the list's place. */
export const recordLists = (() => {
  const golden = readFileSync(new URL('../../golden/v1/recording.obxs', import.meta.url));
  const start = { type: 'segmentStart', process: PROCESS, startUnixNano: String(START), n: 0, pidNamespace: 'pid:[1]' };
  return {
    start: [start],
    golden: [...decodeSegment(golden)].map(({ record }) => record),
    other: otherRecords(),
    calls: exchanges
      .filter((one) => one.request.length + one.response.length < 1_200)
      .map((one, i) => callRecords(one, i + 1)),
  };
})();
