/** Paths of the archiver, and who may ask for what. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TokenCheck } from './auth.ts';
import { type Answer, type ExportHost, handleExport, maxBytesOf, unavailable } from './export-handler.ts';
import type { ArchiverMetrics } from './metrics.ts';
import { CONTENT_TYPE, type OtlpEncoding, RPC_CODE, statusBody } from './otlp-answer.ts';
import { contentEncoding, contentLength } from './request-body.ts';

/**
 * A sender that has promised to keep its payloads says `queue` here and is told 503 where others are told 401: the collector's
 * queue drops what is answered 401, and a token that is being renewed must lose nothing.
 */
const SENDER_HEADER = 'orangebox-sender';

/** What the routes work with. */
export interface RoutesHost {
  exportHost: ExportHost;
  state: { draining: boolean; active: number };
  metrics: ArchiverMetrics;
  isAllowed: TokenCheck;
  /** `/metrics` needs no token. */
  metricsPublic: boolean;
  /** Why the store cannot be used; undefined when it can. */
  storeProblem: () => Promise<string | undefined>;
  isFull: () => boolean;
}

/** The listener of requests. */
export function createRoutes(host: RoutesHost): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    void route(request, response, host).catch(() => response.destroy());
  };
}

async function route(request: IncomingMessage, response: ServerResponse, host: RoutesHost): Promise<void> {
  const path = (request.url ?? '').split('?', 1)[0];
  switch (path) {
    case '/v1/traces':
      return traces(request, response, host);
    case '/healthz':
      return plain(request, response, 200, 'ok');
    case '/readyz':
      return ready(request, response, host);
    case '/metrics':
      return metrics(request, response, host);
    default:
      return plain(request, response, 404, 'not found');
  }
}

async function traces(request: IncomingMessage, response: ServerResponse, host: RoutesHost): Promise<void> {
  const encoding = encodingOf(request.headers['content-type']);
  const answer = refusal(request, encoding, host) ?? (await accepted(request, response, encoding ?? 'json', host));
  host.metrics.request(answer.status);
  if (response.destroyed) return;
  const isClosing = answer.closes === true || host.state.draining;
  response.writeHead(answer.status, {
    'content-type': CONTENT_TYPE[encoding ?? 'json'],
    'content-length': answer.body.length,
    ...answer.headers,
    ...(isClosing ? { connection: 'close' } : {}),
  });
  response.end(answer.body);
  if (answer.closes === true) discard(request);
}

async function accepted(
  request: IncomingMessage,
  response: ServerResponse,
  encoding: OtlpEncoding,
  host: RoutesHost,
): Promise<Answer> {
  if (request.headers.expect !== undefined) response.writeContinue();
  host.state.active += 1;
  try {
    return await handleExport(request, encoding, host.exportHost);
  } finally {
    host.state.active -= 1;
  }
}

/** Why a request is not even read; undefined when it is. */
function refusal(request: IncomingMessage, encoding: OtlpEncoding | undefined, host: RoutesHost): Answer | undefined {
  const refuse = (status: number, code: number, message: string, headers: Record<string, string> = {}): Answer => ({
    status,
    body: statusBody(encoding ?? 'json', code, message),
    headers,
    closes: true,
  });
  if (request.method !== 'POST') return refuse(405, RPC_CODE.unimplemented, 'POST only', { allow: 'POST' });
  if (!host.isAllowed(request)) {
    const message = 'a bearer token is needed';
    host.metrics.unauthorized();
    if (request.headers[SENDER_HEADER] === 'queue')
      return { ...unavailable(encoding ?? 'json', message, 5), closes: true };
    return refuse(401, RPC_CODE.unauthenticated, message, { 'www-authenticate': 'Bearer' });
  }
  if (encoding === undefined) {
    const accept = { 'accept-post': 'application/x-protobuf, application/json' };
    return refuse(415, RPC_CODE.invalidArgument, 'the content type is not OTLP in protobuf or JSON', accept);
  }
  if (contentEncoding(request.headers['content-encoding']) === undefined) {
    return refuse(415, RPC_CODE.unimplemented, 'the content encoding is not gzip, deflate or identity', {
      'accept-encoding': 'gzip, deflate',
    });
  }
  const { requests } = host.exportHost;
  const maxBytes = maxBytesOf(encoding, host.exportHost);
  const said = contentLength(request);
  if (said !== undefined && said > maxBytes) {
    return refuse(413, RPC_CODE.resourceExhausted, `the body has more than ${maxBytes} bytes`);
  }
  if (host.state.draining) return { ...unavailable(encoding, 'stopping', 1), closes: true };
  if (requests.usedBytes + (said ?? 0) > requests.capacityBytes) {
    return { ...unavailable(encoding, 'too many bytes are being worked on', 1), closes: true };
  }
  return undefined;
}

function encodingOf(contentType: string | undefined): OtlpEncoding | undefined {
  const type = (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase();
  if (type === 'application/x-protobuf') return 'protobuf';
  return type === 'application/json' ? 'json' : undefined;
}

/**
 * The rest of a body that nobody wants. A client that is still sending sees the answer only if its bytes are taken for a
 * moment: closing at once would reset the connection under it.
 */
function discard(request: IncomingMessage): void {
  if (request.complete) return;
  request.resume();
  const timer = setTimeout(() => request.socket.destroy(), 1000);
  timer.unref();
  request.once('close', () => clearTimeout(timer));
}

async function ready(request: IncomingMessage, response: ServerResponse, host: RoutesHost): Promise<void> {
  if (host.state.draining) return plain(request, response, 503, 'stopping');
  if (host.isFull()) return plain(request, response, 503, 'memory is full');
  const problem = await host.storeProblem();
  return problem === undefined ? plain(request, response, 200, 'ready') : plain(request, response, 503, problem);
}

async function metrics(request: IncomingMessage, response: ServerResponse, host: RoutesHost): Promise<void> {
  if (!host.metricsPublic && !host.isAllowed(request)) return plain(request, response, 401, 'a bearer token is needed');
  const text = await host.metrics.text();
  plain(request, response, 200, text, host.metrics.contentType);
}

function plain(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  text: string,
  contentType = 'text/plain; charset=utf-8',
): void {
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  const body = `${text.trimEnd()}\n`;
  response.writeHead(isRead || status === 404 ? status : 405, {
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
    ...(isRead ? {} : { connection: 'close' }),
  });
  response.end(body);
  if (!isRead) discard(request);
}
