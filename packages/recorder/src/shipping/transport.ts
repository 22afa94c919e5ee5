/** One POST to the payload endpoint and what its outcome means for the payload and for the endpoint. */
import { Agent as HttpAgent, type IncomingMessage, request as httpRequest } from 'node:http';
import { urlToHttpOptions } from 'node:url';
import { recorderVersion } from '../otel/version.ts';
import { afterMs, cancelTimer } from '../timers.ts';

/** What became of a request. */
export type SendOutcome =
  | { kind: 'accepted'; answer: Uint8Array }
  /** The endpoint can't take it now: later, paced. */
  | { kind: 'later'; reason: string; retryAfterMs?: number }
  /** This payload is not wanted; others may be. */
  | { kind: 'refused'; reason: string }
  /** Nothing can be sent before somebody changes the configuration. */
  | { kind: 'misconfigured'; reason: string }
  /** We gave it up ourselves, because the program wants to end. */
  | { kind: 'abandoned' };

/** Sends bodies to one URL. */
export interface Transport {
  /** `body` is the request's body in pieces. */
  send(body: readonly Uint8Array[]): Promise<SendOutcome>;
  /** Gives up the requests that are under way. */
  abandon(): void;
}

/** Answers are a status and a few bytes; more is not read. */
const MAX_ANSWER_BYTES = 64 * 1024;
const MAX_RETRY_AFTER_MS = 300_000;
/** Bodies up to this size are copied into one piece. */
const JOINED_MAX_BYTES = 64 * 1024;
/** Statuses that say that the address, path or credentials are wrong, not the payload. */
const MISCONFIGURED: ReadonlySet<number> = new Set([401, 402, 403, 404, 405, 407, 410, 426]);

/** Makes a transport. Sockets never keep the program alive. `timeoutMs` bounds silence on the wire, not the whole send. */
export function createTransport(url: URL, headers: Record<string, string>, timeoutMs: number): Transport {
  const secure = url.protocol === 'https:';
  // Only where it is needed: `node:https` assigns over what it inherits, and fails to load in a program that froze `http.Agent`.
  const https = secure ? process.getBuiltinModule('node:https') : undefined;
  const agent = new (https?.Agent ?? HttpAgent)({ keepAlive: true, maxSockets: 8 });
  const post = https?.request ?? httpRequest;
  const target = { ...urlToHttpOptions(url), method: 'POST', agent };
  const abandoning = new Set<() => void>();

  const send = (body: readonly Uint8Array[]): Promise<SendOutcome> =>
    new Promise((resolve) => {
      const size = body.reduce((sum, piece) => sum + piece.length, 0);
      const request = post({
        ...target,
        headers: {
          'user-agent': `orangebox/${recorderVersion}`,
          ...headers,
          'content-type': 'application/x-protobuf',
          'content-length': size,
        },
      });
      let answerTimer: NodeJS.Timeout | undefined;
      let isAnswered = false;
      const settle = (outcome: SendOutcome): void => {
        cancelTimer(answerTimer);
        abandoning.delete(abandon);
        resolve(outcome);
      };
      const giveUp = (): void => {
        settle({ kind: 'later', reason: `no answer within ${timeoutMs} ms` });
        request.destroy();
      };
      const abandon = (): void => {
        settle({ kind: 'abandoned' });
        request.destroy();
      };
      abandoning.add(abandon);
      request.on('socket', (socket) => socket.unref());
      request.setTimeout(timeoutMs, giveUp);
      // An answer that drips, or is put off again and again (102), is none.
      request.on('finish', () => {
        if (!isAnswered) answerTimer = afterMs(timeoutMs, giveUp).unref();
      });
      request.on('error', (error: NodeJS.ErrnoException) => {
        settle({ kind: 'later', reason: error.code ?? error.message });
      });
      // After a switch of protocols (101), for example, nothing else is said.
      request.on('close', () => {
        if (!isAnswered) settle({ kind: 'later', reason: 'the connection was closed without an answer' });
      });
      request.on('response', (response) => {
        isAnswered = true;
        cancelTimer(answerTimer);
        // An answer may come before the whole body was taken (413 and close): what counts is the answer.
        void readAnswer(response, timeoutMs).then((answer) => {
          settle(answer ? outcomeOf(response, answer) : { kind: 'later', reason: 'the answer was cut' });
          if (!request.writableFinished) request.destroy();
        });
      });
      // Small bodies leave in one write, with the head.
      if (size <= JOINED_MAX_BYTES) request.end(Buffer.concat(body));
      else {
        for (const piece of body) request.write(piece);
        request.end();
      }
    });

  return {
    send,
    abandon() {
      for (const abandon of [...abandoning]) abandon();
    },
  };
}

/**
 * The start of an answer's body; what can't be read in time is left: one that drips would hold its place for ever. Undefined where
 * the other side broke it off: it may have said what was not taken.
 */
function readAnswer(response: IncomingMessage, timeoutMs: number): Promise<Uint8Array | undefined> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let isLeft = false;
    const leave = (): void => {
      isLeft = true;
      response.destroy();
    };
    const timer = afterMs(timeoutMs, leave).unref();
    const done = (): void => {
      cancelTimer(timer);
      resolve(response.complete || isLeft ? Buffer.concat(chunks) : undefined);
    };
    response.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > MAX_ANSWER_BYTES) leave();
      else chunks.push(chunk);
    });
    response.on('end', done);
    response.on('error', done);
    response.on('close', done);
  });
}

function outcomeOf(response: IncomingMessage, answer: Uint8Array): SendOutcome {
  const status = response.statusCode ?? 0;
  const reason = `status ${status}`;
  if (status >= 200 && status < 300) return { kind: 'accepted', answer };
  // A redirect could take recordings to a host that nobody named.
  if (status >= 300 && status < 400)
    return { kind: 'misconfigured', reason: `${reason}, a redirect, which is not followed` };
  if (MISCONFIGURED.has(status)) return { kind: 'misconfigured', reason };
  if (status === 408 || status === 425 || status === 429 || status >= 500) {
    const retryAfterMs = parseRetryAfter(response.headers['retry-after']);
    return { kind: 'later', reason, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  }
  return { kind: 'refused', reason };
}

/** `Retry-After` in seconds or as a date, at most five minutes. */
export function parseRetryAfter(value: string | undefined, nowMs: number = Date.now()): number | undefined {
  if (value === undefined) return undefined;
  const seconds = Number(value);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(value) - nowMs;
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS) : undefined;
}
