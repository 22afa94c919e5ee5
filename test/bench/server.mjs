/**
 * The other side of the benchmark, in a process of its own: answers at once with prepared chat completions, and takes payloads.
 * Prints its URL. `/plain/2k`, `/plain/100k`, `/stream/1000`; `/delayed` waits 300 ms, as a model would, and tells when the
 * request arrived (`x-arrived-ms`, Unix time); `/v1/traces` takes whatever comes.
 */
import { createServer } from 'node:http';
import { chatCompletion, chatCompletionEvents } from '../fixtures/provider/chat.mjs';

const request = { model: 'orange-1', messages: [{ role: 'user', content: 'Tell me about oranges.' }] };
const plain = (bytes) => Buffer.from(chatCompletion(request, { bytes }, ''));
const answers = {
  '/plain/2k': [plain(1_200)],
  '/plain/100k': [plain(100_000)],
  '/stream/1000': chatCompletionEvents({ ...request, stream: true }, { chunks: 1_000 }, '').map((e) => Buffer.from(e)),
};

const unixMs = () => performance.timeOrigin + performance.now();

const server = createServer((req, res) => {
  const arrivedMs = unixMs();
  req.resume().on('end', () => {
    const path = (req.url ?? '').replace('/v1/chat/completions', '');
    if (path.endsWith('/v1/traces')) {
      res.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
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
