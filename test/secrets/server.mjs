/** The provider of the secrets drill: answers each placement by its number, as `placements.mjs` says. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { encodedForm } from './placements.mjs';

const answer = (content, extra = {}) =>
  JSON.stringify({
    id: 'chatcmpl-drill',
    object: 'chat.completion',
    created: 1,
    model: 'drill-model',
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    ...extra,
  });

const frame = (delta, finish = null) =>
  `data: ${JSON.stringify({ id: 'chatcmpl-drill', object: 'chat.completion.chunk', created: 1, model: 'drill-model', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

const stream = (pieces) =>
  `${pieces.map((content) => frame({ content })).join('')}${frame({}, 'stop')}data: [DONE]\n\n`;

async function inPieces(res, bytes, size) {
  for (let i = 0; i < bytes.length; i += size) {
    res.write(bytes.subarray(i, i + size));
    if (i % (size * 16) === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  res.end();
}

function bodyOf(p) {
  if (p.kind === 'echo') {
    const text = encodedForm(p.value, p.form);
    if (p.way.startsWith('sse')) return { type: 'text/event-stream', text: stream(['You gave me ', text, '.']) };
    if (p.way === 'binary')
      return {
        type: 'application/octet-stream',
        bytes: Buffer.concat([Buffer.from([0xff, 0xfe, 0]), Buffer.from(text), Buffer.from([0x80])]),
      };
    // "raw" stands in a text answer as it is; the other forms inside JSON.
    if (p.form === 'raw') return { type: 'text/plain', text: `You gave me ${text}.` };
    return { type: 'application/json', text: answer('@@').replace('@@', text) };
  }
  if (p.kind === 'response-field')
    return { type: 'application/json', text: answer('ok', { connection: { [p.field]: p.value } }) };
  if (p.kind === 'pattern') return { type: 'application/json', text: answer(`Your account is ${p.value}.`) };
  if (p.kind === 'sse-deltas') return { type: 'text/event-stream', text: stream([...p.value]) };
  if (p.kind === 'error-message') {
    return {
      status: 401,
      type: 'application/json',
      text: JSON.stringify({
        error: {
          message: `Incorrect API key provided: ${p.value}`,
          type: 'invalid_request_error',
          code: 'invalid_api_key',
          param: null,
        },
      }),
    };
  }
  return { type: 'application/json', text: answer('ok') };
}

/** Starts the provider on loopback; `x-drill: n` names the placement. */
export async function startSecretsServer(placements) {
  const server = createServer(async (req, res) => {
    for await (const _ of req);
    const p = placements[Number(req.headers['x-drill'])];
    const { status = 200, type, text, bytes = Buffer.from(text) } = bodyOf(p);
    const way = p.way ?? 'whole';
    const encoding = way.includes('gzip') ? 'gzip' : way === 'br' ? 'br' : undefined;
    const sent = encoding === 'gzip' ? gzipSync(bytes) : encoding === 'br' ? brotliCompressSync(bytes) : bytes;
    res.statusCode = status;
    res.setHeader('content-type', type);
    if (encoding) res.setHeader('content-encoding', encoding);
    if (p.kind === 'response-header')
      res.setHeader(p.name, p.name === 'set-cookie' ? [`sid=${p.value}; Path=/`, `b=${p.value}`] : p.value);
    if (way.includes('bytes')) await inPieces(res, sent, 1);
    else await inPieces(res, sent, 700);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}
