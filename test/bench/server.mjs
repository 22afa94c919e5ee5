/**
 * The other side of the benchmark, in a process of its own: answers at once with prepared chat completions, and takes payloads
 * and spans. Prints its URL. `/plain/2k`, `/plain/100k`, `/stream/1000`; `/delayed` waits 300 ms, as a model would, and tells
 * when the request arrived (`x-arrived-ms`, Unix time). What is posted to `/<run>/v1/traces` is kept unread until
 * `/<run>/received` asks what it was, once, so that reading it takes nothing from the program that is measured.
 */
import { createServer } from 'node:http';
import { chatCompletion, chatCompletionEvents } from '../fixtures/provider/chat.mjs';
import { decodeSpans } from '../helpers/otlp-receiver.mjs';

const request = { model: 'orange-1', messages: [{ role: 'user', content: 'Tell me about oranges.' }] };
const plain = (bytes) => Buffer.from(chatCompletion(request, { bytes }, ''));
const answers = {
  '/plain/2k': [plain(1_200)],
  '/plain/100k': [plain(100_000)],
  '/stream/1000': chatCompletionEvents({ ...request, stream: true }, { chunks: 1_000 }, '').map((e) => Buffer.from(e)),
};
/** Bodies of the requests of each run. */
const runs = new Map();

const unixMs = () => performance.timeOrigin + performance.now();

/** Snapshots that came whole, by key, spans that are no payload, and requests. */
function received(run) {
  const bodies = runs.get(run) ?? [];
  runs.delete(run);
  const parts = new Map();
  const spans = new Set();
  let shared = 0;
  for (const body of bodies) {
    const all = decodeSpans(body, 'application/x-protobuf');
    for (const { spanId, resource, events } of all) {
      const event = events.find(({ name }) => name === 'orangebox.snapshot');
      if (!event) {
        spans.add(spanId);
        continue;
      }
      const key = resource['orangebox.snapshot.key'];
      const known = parts.get(key) ?? { seen: new Set(), count: Number(event.attributes['orangebox.part.count']) };
      known.seen.add(Number(event.attributes['orangebox.part.index']));
      parts.set(key, known);
    }
    if (all.length > 1) shared += 1;
  }
  const payloads = [...parts.values()].filter(({ seen, count }) => seen.size === count).length;
  return { payloads, spans: spans.size, requests: bodies.length, shared };
}

const server = createServer((req, res) => {
  const arrivedMs = unixMs();
  const chunks = [];
  const isExport = req.url?.endsWith('/v1/traces') === true;
  req.on('data', (chunk) => void (isExport && chunks.push(chunk)));
  req.on('end', () => {
    const path = (req.url ?? '').replace('/v1/chat/completions', '');
    if (isExport) {
      const run = path.split('/')[1] ?? '';
      const bodies = runs.get(run) ?? [];
      bodies.push(Buffer.concat(chunks));
      runs.set(run, bodies);
      res.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
      return;
    }
    if (path.endsWith('/v1/metrics')) {
      res.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
      return;
    }
    if (path.endsWith('/received')) {
      res
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify(received(path.split('/')[1] ?? '')));
      return;
    }
    if (path === '/delayed') {
      setTimeout(() => {
        res.writeHead(200, { 'content-type': 'application/json', 'x-arrived-ms': String(arrivedMs) });
        res.end(answers['/plain/2k'][0]);
      }, 300);
      return;
    }
    const pieces = answers[path];
    if (pieces === undefined) {
      res.writeHead(404).end();
      return;
    }
    const stream = pieces.length > 1;
    const length = stream ? {} : { 'content-length': String(pieces[0].length) };
    res.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json', ...length });
    for (const piece of pieces) res.write(piece);
    res.end();
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
