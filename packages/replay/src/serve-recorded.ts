/** A loopback endpoint that gives any client the recorded bytes in the recorded chunks. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { headerOf } from '@orangebox/codec';
import { type Exchange, OrangeboxError, type Snapshot } from '@orangebox/schema';
import { findCalls } from './lookup.ts';
import { outcomeOf } from './recorded-failure.ts';
import { isHopByHop, isValidField, recordedChunks } from './recorded-message.ts';
import { type MatchRung, RecordedRequest, type SeenRequest, targetOf } from './request-match.ts';
import type { RecordedServer, Reference, ServeOptions } from './types.ts';

/** Largest request body that is compared. */
const REQUEST_MAX_BYTES: number = 256 * 1024 * 1024;

/**
 * Serves the calls of a reference (one call, or a session or trace) on 127.0.0.1. Each recorded attempt is given once,
 * in order, to the request that equals it; any other request is answered with 404 and the reason.
 *
 * @throws OrangeboxError `OBX_REF_*`, `OBX_SNAPSHOT_*`, `OBX_REPLAY_NO_EXCHANGE`, `OBX_SERVE_PORT`.
 */
export async function serveRecorded(reference: Reference, options: ServeOptions = {}): Promise<RecordedServer> {
  const shelf = new Shelf(await findCalls(reference, options));
  const server = createServer({ requestTimeout: 0 });
  const port = await listen(server, options.port ?? 0);
  const hosts = new Set([`127.0.0.1:${port}`, `localhost:${port}`]);
  server.on('request', (request, response) => {
    answer(request, response, shelf, hosts, options).catch(() => request.socket.destroy());
  });
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    baseUrl: url + shelf.basePath,
    port,
    stats: () => shelf.stats(),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    // Stays: a fault after it listens (no descriptor left to accept with) ends nothing.
    server.on('error', (cause) => {
      reject(
        new OrangeboxError('OBX_SERVE_PORT', `could not listen on 127.0.0.1:${port}: ${cause.message}`, {
          cause,
          hint: 'leave the port out to get a free one',
        }),
      );
    });
    server.listen({ host: '127.0.0.1', port }, resolve);
  });
  return (server.address() as AddressInfo).port;
}

interface Recorded {
  snapshot: Snapshot;
  exchange: Exchange;
  request: RecordedRequest;
  taken: boolean;
}

/** The recorded attempts, each to be taken once. */
class Shelf {
  readonly basePath: string;
  readonly #recorded: Recorded[];
  #served = 0;
  #misses = 0;

  constructor(snapshots: readonly Snapshot[]) {
    this.#recorded = snapshots.flatMap((snapshot) =>
      servable(snapshot).map((exchange) => ({
        snapshot,
        exchange,
        request: new RecordedRequest(exchange.request),
        taken: false,
      })),
    );
    const [first] = this.#recorded;
    if (!first) {
      throw new OrangeboxError('OBX_REPLAY_NO_EXCHANGE', 'there is no recorded answer to serve', {
        hint: 'tool snapshots have none: serve the session or a call',
      });
    }
    this.basePath = basePathOf(first.exchange.request.url);
  }

  stats(): { served: number; remaining: number; misses: number } {
    return {
      served: this.#served,
      remaining: this.#recorded.filter(({ taken }) => !taken).length,
      misses: this.#misses,
    };
  }

  /** Takes the first recorded attempt that a request equals, exact ones before canonical ones; else tells why not. */
  take(seen: SeenRequest): { recorded: Recorded; rung: MatchRung } | { reason: string } {
    let canonical: Recorded | undefined;
    let wasTaken = false;
    for (const recorded of this.#recorded) {
      const rung = recorded.request.match(seen);
      if (rung !== undefined && recorded.taken) wasTaken = true;
      if (rung === undefined || recorded.taken) continue;
      if (rung === 'exact') return this.#hand(recorded, 'exact');
      canonical ??= recorded;
    }
    if (canonical) return this.#hand(canonical, 'canonical');
    this.#misses += 1;
    return { reason: wasTaken ? 'every recorded answer to this request was given already' : this.#why(seen) };
  }

  #hand(recorded: Recorded, rung: MatchRung): { recorded: Recorded; rung: MatchRung } {
    recorded.taken = true;
    this.#served += 1;
    return { recorded, rung };
  }

  #why(seen: SeenRequest): string {
    const left = this.#recorded.filter(({ taken }) => !taken);
    const path = (target: string): string => target.split('?')[0] ?? '';
    const samePath = left.filter(({ exchange }) => path(targetOf(exchange.request.url)) === path(seen.target));
    if (samePath.length === 0) {
      const paths = [
        ...new Set(left.map(({ exchange }) => `${exchange.request.method} ${targetOf(exchange.request.url)}`)),
      ];
      return paths.length === 0 ? 'nothing is left to serve' : `recorded are ${paths.slice(0, 3).join(', ')}`;
    }
    return `the body (${seen.body.length} bytes) equals none of the ${samePath.length} recorded ones for this path`;
  }
}

/** Attempts that a client asks for: of a row of redirects only the last, so that none leads a client elsewhere. */
function servable(snapshot: Snapshot): Exchange[] {
  const { exchanges } = snapshot;
  return exchanges.flatMap((exchange, i) => {
    const status = exchange.response?.status ?? 0;
    const isFollowed = status >= 300 && status < 400 && status !== 304 && i < exchanges.length - 1;
    if (isFollowed) return [];
    const before = exchanges[i - 1]?.response?.status ?? 0;
    const cameByRedirect = before >= 300 && before < 400;
    // The client asks with the request that it made first.
    return cameByRedirect && exchanges[i - 1] ? [{ ...exchange, request: firstOfRedirects(exchanges, i) }] : [exchange];
  });
}

function firstOfRedirects(exchanges: readonly Exchange[], at: number): Exchange['request'] {
  let first = at;
  while (first > 0 && ((exchanges[first - 1]?.response?.status ?? 0) / 100) >> 0 === 3) first -= 1;
  return (exchanges[first] as Exchange).request;
}

/** The recorded path up to the operation, as an OpenAI client wants it. */
function basePathOf(url: string): string {
  const path = targetOf(url).split('?')[0] ?? '';
  const known = /^(.*?)\/(?:chat\/completions|completions|responses|embeddings|messages)(?:\/|$)/.exec(path);
  return known?.[1] ?? path.replace(/\/[^/]*$/, '');
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  shelf: Shelf,
  hosts: ReadonlySet<string>,
  options: ServeOptions,
): Promise<void> {
  const method = request.method ?? 'GET';
  const target = request.url ?? '/';
  const path = target.split('?')[0] ?? '';
  const refuse = (status: number, code: string, reason: string): void => {
    options.onRequest?.({ kind: 'miss', method, path, reason });
    sendError(response, status, code, reason);
  };
  // A page in a browser reaches loopback under another name (DNS rebinding) or from another origin.
  if (!hosts.has((request.headers.host ?? '').toLowerCase())) {
    return refuse(403, 'OBX_SERVE_HOST', 'the Host header does not name this endpoint');
  }
  if (request.headers.origin !== undefined || isCrossSite(request)) {
    return refuse(403, 'OBX_SERVE_ORIGIN', 'requests of web pages are not answered');
  }
  const body = await readBody(request);
  if (!body) return refuse(413, 'OBX_SERVE_TOO_LARGE', `the body is larger than ${REQUEST_MAX_BYTES} bytes`);
  const headers = pairs(request.rawHeaders);
  const taken = shelf.take({ method, target, headers, body });
  if ('reason' in taken) return refuse(404, 'OBX_REPLAY_MISS', taken.reason);
  const { recorded, rung } = taken;
  options.onRequest?.({
    kind: 'served',
    rung,
    method,
    path,
    spanId: recorded.snapshot.id,
    attempt: recorded.exchange.attempt,
  });
  await give(recorded.exchange, response);
}

function isCrossSite(request: IncomingMessage): boolean {
  const site = request.headers['sec-fetch-site'];
  return site !== undefined && site !== 'same-origin' && site !== 'none';
}

async function readBody(request: IncomingMessage): Promise<Uint8Array | undefined> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Uint8Array>) {
    size += part.length;
    if (size > REQUEST_MAX_BYTES) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function pairs(raw: readonly string[]): [string, string][] {
  const headers: [string, string][] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) headers.push([raw[i] ?? '', raw[i + 1] ?? '']);
  return headers;
}

function sendError(response: ServerResponse, status: number, code: string, message: string): void {
  const body = JSON.stringify({ error: { type: 'orangebox_replay', code, message } });
  response.writeHead(status, { 'content-type': 'application/json', 'x-should-retry': 'false', connection: 'close' });
  response.end(body);
}

/** Gives a recorded answer as it came: status, headers, chunks, and the way it ended. */
async function give(exchange: Exchange, response: ServerResponse): Promise<void> {
  const recorded = exchange.response;
  const outcome = outcomeOf(exchange);
  if (!recorded) {
    // A caller that gave up is waited for; every other failure is a connection that breaks.
    if (outcome.kind !== 'abort') response.socket?.resetAndDestroy();
    return;
  }
  const chunks = recordedChunks(recorded);
  const flat: string[] = [];
  for (const [name, value] of recorded.headers) {
    const isDecoded = recorded.storedDecoded !== undefined && name.toLowerCase() === 'content-encoding';
    if (isValidField(name, value) && !isHopByHop(name) && !isDecoded) flat.push(name, value);
  }
  // The recorded framing where it is true of the stored bytes, else chunks.
  const length = headerOf(recorded.headers, 'content-length');
  const isFramedByLength = length !== undefined && Number(length) === recorded.body.sizeBytes && outcome.kind === 'end';
  if (isFramedByLength) flat.push('content-length', length);
  response.sendDate = false;
  response.socket?.setNoDelay(true);
  const status = recorded.status >= 100 && recorded.status <= 999 ? recorded.status : 502;
  response.writeHead(status, /^[\t\x20-\x7e]*$/.test(recorded.statusText) ? recorded.statusText : '', flat);
  response.flushHeaders();
  for (const chunk of chunks) {
    if (response.destroyed) return;
    if (!response.write(chunk)) await untilDrained(response);
    // One turn per chunk, so that they leave as they came.
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (outcome.kind === 'end') response.end();
  else if (outcome.kind === 'error') response.socket?.destroySoon();
}

function untilDrained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    response.once('drain', resolve);
    response.once('close', resolve);
  });
}
