/**
 * Serves recorded exchanges on a loopback port and keeps what it received and sent of each: raw headers and body bytes. The
 * request names its exchange in {@link EXCHANGE_HEADER}.
 */
import { createServer } from 'node:http';
import { answerOf, EXCHANGE_HEADER } from './exchange.mjs';

/** Header pairs of a message head as text, in order, names as written. */
function headerPairs(head) {
  const lines = head.split('\r\n').slice(1);
  return lines
    .filter((line) => line.includes(':'))
    .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]);
}

const pairsOf = (flat) => Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i] ?? '', flat[2 * i + 1] ?? '']);

const write = (res, piece) => new Promise((resolve) => res.write(piece, () => resolve()));

/**
 * Starts the server.
 * @returns `{url, log, close}`; `log` has an entry per request received, in order of arrival.
 */
export async function startCorpusServer(exchanges, { port = 0 } = {}) {
  const log = [];
  const byNumber = new Map(exchanges.map((exchange) => [exchange.n, exchange]));

  async function handle(req, res) {
    const chunks = [];
    for await (const chunk of req) chunks.push(chunk);
    const n = Number(req.headers[EXCHANGE_HEADER]);
    const exchange = byNumber.get(n);
    if (exchange === undefined) {
      res.writeHead(404).end();
      return;
    }
    const entry = {
      n,
      received: {
        method: req.method,
        path: req.url,
        headers: pairsOf(req.rawHeaders),
        body: Buffer.concat(chunks),
      },
      sent: undefined,
    };
    log.push(entry);
    const answer = answerOf(exchange);
    const body = Buffer.concat(answer.pieces);
    // Both framings, by turns; streams always in chunks.
    const chunked =
      n % 3 !== 0 || /event-stream|ndjson/.test(String(answer.headers.find(([h]) => h === 'content-type')));
    const headers = chunked ? answer.headers : [...answer.headers, ['content-length', String(body.length)]];
    res.sendDate = false;
    res.writeHead(answer.status, headers.flat());
    entry.sent = { status: answer.status, headers: headerPairs(res._header), body };
    res.flushHeaders();
    for (const piece of answer.pieces) await write(res, piece);
    res.end();
  }

  const server = createServer((req, res) => {
    handle(req, res).catch(() => res.destroy());
  });
  await new Promise((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    log,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
