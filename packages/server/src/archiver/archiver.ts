/** The archiver: OTLP/HTTP in, objects out. It holds no state that another would need: any number may run at once. */
import { createServer, type IncomingMessage, type Server, type ServerResponse, type ServerOptions } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type IndexRow, OrangeboxError } from '@orangebox/schema';
import { createIndexWriter, type ObjectBucket } from '@orangebox/store';
import { createAssembler } from './assembler.ts';
import { createTokenCheck, isLoopback } from './auth.ts';
import type { ExportHost } from './export-handler.ts';
import { createReadiness } from './health.ts';
import { type ArchiverLimits, DEFAULT_LIMITS, memoryShares } from './limits.ts';
import { type ArchiverLog, createLog } from './log.ts';
import { measuredBucket, tellStoreFault } from './measured-bucket.ts';
import { createByteAccount, createRoom } from './memory.ts';
import { createMetrics } from './metrics.ts';
import { createQuarantine } from './quarantine.ts';
import { createRoutes } from './routes.ts';

/** TLS of an archiver, PEM. */
export interface ArchiverTls {
  cert: string;
  key: string;
  /** Client certificates signed by these are demanded. */
  clientCa?: string;
}

/** Options of {@link startArchiver}. */
export interface ArchiverOptions {
  bucket: ObjectBucket;
  /** Default 127.0.0.1. */
  host?: string;
  /** Default 4330; 0 takes a free one. */
  port?: number;
  /** Any of them is taken; none demands none, which is refused off loopback unless client certificates are demanded. */
  tokens?: readonly string[];
  tls?: ArchiverTls;
  /** `/metrics` is answered to anybody also off loopback. */
  metricsPublic?: boolean;
  limits?: Partial<ArchiverLimits>;
  /** False writes no index objects; `reindex` makes them later. */
  index?: boolean;
  version?: string;
  log?: ArchiverLog;
}

/** An archiver that runs. */
export interface Archiver {
  /** Base URL, as its own machine reaches it. */
  url: string;
  port: number;
  /** Text of `/metrics`. */
  metrics(): Promise<string>;
  /** Takes no more, finishes what is under way within `limits.drainMs`, writes the index. */
  stop(): Promise<void>;
}

/** How long the last rows of the index may take. */
const INDEX_CLOSE_MS = 5000;

/**
 * Starts an archiver.
 *
 * @throws OrangeboxError `OBX_ARCHIVE_AUTH` (it would listen to the world and take from anybody), `OBX_ARCHIVE_PORT`,
 * `OBX_ARCHIVE_TLS`.
 */
export async function startArchiver(options: ArchiverOptions): Promise<Archiver> {
  const { bucket, host = '127.0.0.1', tokens = [], tls } = options;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  demandAuth(host, tokens, tls);
  const log = options.log ?? createLog();
  const shares = memoryShares(limits.memoryBytes);
  const requests = createByteAccount(shares.requests);
  const room = createRoom(shares.checks);
  const places = createRoom(limits.writes);
  const metrics = createMetrics(options.version ?? '0.1.0', {
    inFlightBytes: () => requests.usedBytes,
    workBytes: () => room.used,
    waitingWrites: () => places.waiting,
    indexRows: () => index?.stats() ?? { written: 0, dropped: 0, pending: 0 },
    pendingAssemblies: () => assembler.pending,
  });
  const { problem: storeProblem, wrote } = createReadiness(bucket);
  const measured = measuredBucket(bucket, { metrics, log, wrote, places, timeoutMs: limits.storeTimeoutMs });
  const quarantine = createQuarantine(measured, limits.quarantine);
  const index =
    options.index === false
      ? undefined
      : createIndexWriter(bucket, {
          maxBytes: shares.index,
          onError: (error) => metrics.storeError(tellStoreFault(log, 'index', error).code),
        });
  const checks = { room, makesRows: index !== undefined };
  const toIndex = (row: IndexRow): void => {
    try {
      index?.add(row);
    } catch (error) {
      // What is stored is stored: the answer does not depend on a list.
      log.warn('index_fault', { key: row.key, message: error instanceof Error ? error.message : String(error) });
    }
  };
  const assembler = createAssembler({
    bucket: measured,
    checks,
    quarantine,
    metrics,
    log,
    joinedMaxBytes: shares.joins,
    verified: toIndex,
  });
  const exportHost: ExportHost = {
    requests,
    requestMaxBytes: Math.min(limits.requestBytes, shares.requests),
    quarantine,
    metrics,
    log,
    keeper: {
      bucket: measured,
      checks,
      looks: createRoom(4),
      readMaxBytes: Math.floor(shares.checks / 4),
      stored: toIndex,
      unverified(part) {
        metrics.unverified();
        log.warn('payload_unverified', { key: part.key, sizeBytes: part.bytes.length });
      },
      partStored: (part) => assembler.offer(part),
    },
  };
  const state = { draining: false, active: 0 };
  const routes = createRoutes({
    exportHost,
    state,
    metrics,
    isAllowed: tokens.length > 0 ? createTokenCheck(tokens) : () => true,
    metricsPublic: options.metricsPublic === true || isLoopback(host),
    storeProblem,
    isFull: () => requests.usedBytes > shares.requests * 0.95,
  });
  const server = makeServer(routes, tls, limits);
  await listen(server, host, options.port ?? 4330);
  const { port } = server.address() as AddressInfo;
  const url = `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host.replace(/^\[|\]$/g, '')}]` : host}:${port}`;
  log.info('listening', { url, store: bucket.location, auth: authWord(tokens, tls), memoryBytes: limits.memoryBytes });
  // It may come later, so that nothing ends; but a wrong bucket or key should be known before the first payload is refused.
  bucket.check().catch((error: unknown) => metrics.storeError(tellStoreFault(log, 'check', error).code));

  let stopped: Promise<void> | undefined;
  const drain = async (): Promise<void> => {
    state.draining = true;
    log.info('draining', { requests: state.active });
    const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
    server.closeIdleConnections();
    await within(limits.drainMs, Promise.all([closed, assembler.idle()]));
    server.closeAllConnections();
    // Rows that are not taken now are found again by a reindex.
    await within(
      INDEX_CLOSE_MS,
      index?.close().catch(() => undefined),
    );
    log.info('stopped');
  };
  return {
    url,
    port,
    metrics: () => metrics.text(),
    stop: () => (stopped ??= drain()),
  };
}

function demandAuth(host: string, tokens: readonly string[], tls: ArchiverTls | undefined): void {
  if (isLoopback(host) || tokens.length > 0 || tls?.clientCa !== undefined) return;
  throw new OrangeboxError(
    'OBX_ARCHIVE_AUTH',
    `${host} can be reached from elsewhere, and nobody would have to prove who they are`,
    {
      hint: 'set ORANGEBOX_ARCHIVE_TOKEN (or --token-file), demand client certificates with --tls-client-ca, or listen on 127.0.0.1',
    },
  );
}

function authWord(tokens: readonly string[], tls: ArchiverTls | undefined): string {
  const words = [...(tokens.length > 0 ? ['token'] : []), ...(tls?.clientCa === undefined ? [] : ['mtls'])];
  return words.join('+') || 'none';
}

/** How long the answer to a fault may take to be sent. */
const ANSWER_MS = 500;

/** Answers to what is not even a request. */
const STATUS_OF_FAULT: { readonly [code: string]: string } = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

function makeServer(
  routes: (request: IncomingMessage, response: ServerResponse) => void,
  tls: ArchiverTls | undefined,
  limits: ArchiverLimits,
): Server {
  const http = {
    headersTimeout: Math.min(10_000, limits.requestTimeoutMs),
    requestTimeout: limits.requestTimeoutMs,
    // Longer than clients keep idle connections (the collector 90 s), so that it is they who close.
    keepAliveTimeout: 120_000,
    connectionsCheckingInterval: Math.min(5000, limits.requestTimeoutMs),
    maxHeaderSize: 16 * 1024,
  };
  const server = tls ? tlsServer(tls, http, routes) : createServer(http, routes);
  server.maxConnections = limits.connections;
  // The body is asked for only when it will be read.
  server.on('checkContinue', routes);
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const status = STATUS_OF_FAULT[error.code ?? ''] ?? '400 Bad Request';
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
    // That closes our half only. A client that keeps its own open would keep its connection, and the memory of its body.
    setTimeout(() => socket.destroy(), ANSWER_MS).unref();
  });
  return server;
}

function tlsServer(
  tls: ArchiverTls,
  http: ServerOptions & { headersTimeout: number },
  routes: (request: IncomingMessage, response: ServerResponse) => void,
): Server {
  const client = tls.clientCa === undefined ? {} : { ca: tls.clientCa, requestCert: true, rejectUnauthorized: true };
  const handshake = { handshakeTimeout: http.headersTimeout };
  try {
    return createTlsServer(
      { ...http, cert: tls.cert, key: tls.key, minVersion: 'TLSv1.2', ...handshake, ...client },
      routes,
    );
  } catch (cause) {
    throw new OrangeboxError('OBX_ARCHIVE_TLS', 'the certificate or key cannot be used', {
      cause,
      hint: 'both are PEM files, and the key is that of the certificate',
    });
  }
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) =>
      reject(
        new OrangeboxError(
          'OBX_ARCHIVE_PORT',
          `${host}:${port} cannot be listened on (${cause.code ?? cause.message})`,
          {
            cause,
            hint: 'name another with --listen HOST:PORT',
          },
        ),
      ),
    );
    server.listen(port, host.replace(/^\[|\]$/g, ''), resolve);
  });
}

async function within(ms: number, work: Promise<unknown> | undefined): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  await Promise.race([work, new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)))]);
  clearTimeout(timer);
}
