/**
 * The snapshot page: `/t/{trace}/{span}` on loopback, the target of links in a trace UI. No script runs in it, it sets no
 * cookie, it changes nothing, and it answers nobody but a browser on this machine that was sent there.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { OrangeboxError } from '@orangebox/schema';
import type { SnapshotStore } from '@orangebox/store';
import { type AnswerOptions, answerTo, type RawFile, routeOf } from './answers.ts';
import type { CommandWords } from './commands.ts';
import { documentOf, type Page, SAFE_HEADERS } from './document.ts';
import { refusal } from './guard.ts';
import { faultPage } from './state-pages.ts';

/** Lends a store to `work` and gives what it gives. */
export type LendStore = <T>(work: (store: SnapshotStore) => Promise<T>) => Promise<T>;

/** Options of {@link startSnapshotPage}. */
export interface SnapshotPageOptions {
  /** The store, or a lender of it for the time of one answer: a page may be served for days. */
  store: SnapshotStore | LendStore;
  /** Default 4331; 0 for a free one. */
  port?: number;
  /** How the commands that the page names are typed (default `orangebox`, without options). */
  words?: Partial<CommandWords>;
  /** Told of faults that are no `OrangeboxError`. */
  onFault?: (error: unknown) => void;
}

/** A running page. */
export interface SnapshotPage {
  /** `http://127.0.0.1:<port>`. */
  url: string;
  port: number;
  stop(): Promise<void>;
}

/** Port of the page where no other is named; links in trace UIs point to it. */
export const SNAPSHOT_PAGE_PORT = 4331;

/** Recordings opened at once: each may take hundreds of megabytes. */
const OPEN_MAX = 2;

/** Requests that may wait for their turn. */
const WAITING_MAX = 32;

/**
 * Serves the page on 127.0.0.1. A given store stays the caller's to close.
 *
 * @throws OrangeboxError `OBX_SERVE_PORT` when the port cannot be listened on.
 */
export async function startSnapshotPage(options: SnapshotPageOptions): Promise<SnapshotPage> {
  const { store } = options;
  const lend: LendStore = typeof store === 'function' ? store : (work) => work(store);
  const answers: Answering = {
    lend,
    words: { command: 'orangebox', options: '', ...options.words },
    nowMs: Date.now,
  };
  const turns = new Turns(OPEN_MAX);
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 10_000, maxHeaderSize: 16_384 });
  server.maxConnections = 64;
  server.on('request', (request, response) => {
    void handle(request, response, portOf(server), answers, turns, options.onFault);
  });
  await listen(server, options.port ?? SNAPSHOT_PAGE_PORT);
  const port = portOf(server);
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** What answers are made with. */
type Answering = Omit<AnswerOptions, 'store'> & { lend: LendStore };

async function handle(
  request: IncomingMessage,
  response: ServerResponse,
  port: number,
  answers: Answering,
  turns: Turns,
  onFault: SnapshotPageOptions['onFault'],
): Promise<void> {
  request.resume();
  const [path = ''] = (request.url ?? '').split('?');
  const route = routeOf(path);
  const refused = refusal(request, port, route.kind === 'snapshot' || route.kind === 'body' ? 'file' : 'page');
  if (refused) {
    sendText(response, refused.status, refused.message);
    return;
  }
  if (turns.waiting >= WAITING_MAX) {
    sendText(response, 503, 'too many pages at once');
    return;
  }
  try {
    const answer = await turns.take(() => answers.lend((store) => answerTo(route, { ...answers, store })));
    if ('bytes' in answer) sendFile(request, response, answer);
    else sendPage(request, response, answer);
  } catch (error) {
    if (!(error instanceof OrangeboxError)) onFault?.(error);
    if (response.headersSent) response.destroy();
    else sendPage(request, response, faultPage(error));
  }
}

function sendPage(request: IncomingMessage, response: ServerResponse, page: Page): void {
  const body = Buffer.from(documentOf(page));
  const headers: Record<string, string> = {
    ...SAFE_HEADERS,
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Length': String(body.length),
  };
  if (page.refreshSeconds !== undefined) headers['Refresh'] = String(page.refreshSeconds);
  response.writeHead(page.status, headers);
  response.end(request.method === 'HEAD' ? undefined : body);
}

function sendFile(request: IncomingMessage, response: ServerResponse, file: RawFile): void {
  response.writeHead(200, {
    ...SAFE_HEADERS,
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Disposition': `attachment; filename="${file.fileName}"`,
    'Content-Length': String(file.bytes.length),
  });
  response.end(request.method === 'HEAD' ? undefined : file.bytes);
}

function sendText(response: ServerResponse, status: number, text: string): void {
  const body = Buffer.from(`${text}\n`);
  response.writeHead(status, {
    ...SAFE_HEADERS,
    ...(status === 405 ? { Allow: 'GET, HEAD' } : {}),
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': String(body.length),
    Connection: 'close',
  });
  response.end(body);
}

async function listen(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    // Stays: a fault after it listens (no descriptor left to accept with) ends nothing.
    server.on('error', (cause) => {
      reject(
        new OrangeboxError('OBX_SERVE_PORT', `could not listen on 127.0.0.1:${port}: ${cause.message}`, {
          cause,
          hint: 'the page may be running already; --port names another port, --port 0 takes a free one',
        }),
      );
    });
    server.listen({ host: '127.0.0.1', port }, resolve);
  });
}

function portOf(server: Server): number {
  const address = server.address() as AddressInfo | null;
  return address?.port ?? 0;
}

/** Lets so many through at once, the others wait. */
class Turns {
  readonly #queue: (() => void)[] = [];
  #free: number;

  constructor(count: number) {
    this.#free = count;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#queue.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#queue.shift();
      if (next) next();
      else this.#free += 1;
    }
  }
}
