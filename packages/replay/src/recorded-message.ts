/** Recorded exchanges as `Request` and `Response` objects. */
import { decodeBody, headerOf } from '@orangebox/codec';
import {
  type Exchange,
  type ExchangeRequest,
  type ExchangeResponse,
  type HeaderList,
  OrangeboxError,
} from '@orangebox/schema';
import { contentDecoders, decodeChunks } from './content-stream.ts';
import { abortError, outcomeOf } from './recorded-failure.ts';

/** Fields about the connection, not the message: whoever sends makes them anew. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'te',
  'trailer',
  'upgrade',
  'expect',
  'host',
  'content-length',
]);

/** Whether a header field is about the connection. */
export function isHopByHop(name: string): boolean {
  return HOP_BY_HOP.has(name.toLowerCase());
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// Visible characters, spaces and tabs; what a header may hold on the wire.
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Whether a header field can stand on the wire: no control characters, no line ends. */
export function isValidField(name: string, value: string): boolean {
  return TOKEN.test(name) && FIELD_VALUE.test(value);
}

/** The recorded request; `OBX_REPLAY_REQUEST` when no `Request` can be made of it. */
export function toRequest(recorded: ExchangeRequest): Request {
  const method = recorded.method.toUpperCase();
  const headers = new Headers();
  for (const [name, value] of recorded.headers) {
    if (isValidField(name, value) && !isHopByHop(name)) headers.append(name, value);
  }
  const bytes = decodeBody(recorded.body);
  const hasBody = bytes.length > 0 && method !== 'GET' && method !== 'HEAD';
  try {
    return new Request(recorded.url, {
      method,
      headers,
      ...(hasBody ? { body: bytes as Uint8Array<ArrayBuffer> } : {}),
    });
  } catch (cause) {
    throw new OrangeboxError('OBX_REPLAY_REQUEST', 'the recorded request cannot be made into a Request', {
      cause,
      hint: 'its parts are in snapshot.exchanges',
    });
  }
}

/** How a recorded response is given to a client. */
export interface ResponseOptions {
  /** Aborts the client where the recorded caller did so. */
  onAbort?: () => void;
  /** Counts what the client was given. */
  onChunk?: (bytes: Uint8Array) => void;
  /** Header fields that are set besides the recorded ones. */
  extraHeaders?: HeaderList;
}

/**
 * The recorded response, body decoded and streamed chunk by chunk, headers as recorded: what `fetch` gave. A recorded
 * failure within the body fails the body in the same place.
 */
export function toResponse(exchange: Exchange, options: ResponseOptions = {}): Response {
  const recorded = exchange.response;
  if (!recorded) {
    throw new OrangeboxError('OBX_REPLAY_NO_RESPONSE', `no response came: the exchange ended in ${exchange.ending}`, {
      hint: 'snapshot.exchanges has the error; replayRecorded reproduces it',
    });
  }
  const headers = new Headers();
  for (const [name, value] of [...recorded.headers, ...(options.extraHeaders ?? [])]) {
    if (isValidField(name, value)) headers.append(name, value);
  }
  const { status } = recorded;
  const isNull = [101, 204, 205, 304].includes(status) || exchange.request.method.toUpperCase() === 'HEAD';
  const isConstructible = status >= 200 && status <= 599;
  const response = new Response(isNull ? null : bodyStream(exchange, recorded, options), {
    status: isConstructible ? status : 200,
    statusText: FIELD_VALUE.test(recorded.statusText) ? recorded.statusText : '',
    headers,
  });
  // `new Response` takes neither a URL nor an odd status; fetch gives both.
  Object.defineProperty(response, 'url', { value: exchange.request.url, configurable: true });
  if (!isConstructible) Object.defineProperty(response, 'status', { value: status, configurable: true });
  return response;
}

/** Recorded body bytes, one recorded chunk at a time. */
export function recordedChunks(recorded: ExchangeResponse | ExchangeRequest): Uint8Array[] {
  const bytes = decodeBody(recorded.body);
  const chunks: Uint8Array[] = [];
  let at = 0;
  for (const { sizeBytes } of recorded.chunks) {
    if (sizeBytes === 0) continue;
    chunks.push(bytes.subarray(at, at + sizeBytes));
    at += sizeBytes;
  }
  if (at < bytes.length) chunks.push(bytes.subarray(at));
  return chunks;
}

async function* deliveries(
  exchange: Exchange,
  recorded: ExchangeResponse,
  options: ResponseOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (const chunk of recordedChunks(recorded)) {
    options.onChunk?.(chunk);
    yield chunk;
  }
  const outcome = outcomeOf(exchange);
  if (outcome.kind === 'end') return;
  // What was delivered before reaches the reader before the failure does.
  await new Promise((resolve) => setImmediate(resolve));
  if (outcome.kind === 'error') throw outcome.error;
  options.onAbort?.();
  throw abortError();
}

function bodyStream(
  exchange: Exchange,
  recorded: ExchangeResponse,
  options: ResponseOptions,
): ReadableStream<Uint8Array> {
  const encoding = recorded.storedDecoded ? undefined : headerOf(recorded.headers, 'content-encoding');
  const decoders = encoding === undefined ? [] : (contentDecoders(encoding) ?? []);
  const source = decodeChunks(deliveries(exchange, recorded, options), decoders);
  return new ReadableStream({
    type: 'bytes',
    async pull(controller): Promise<void> {
      try {
        const { done, value } = await source.next();
        if (!done) {
          // A copy: streams of bytes take over the whole buffer of what they are given.
          controller.enqueue(new Uint8Array(value));
          return;
        }
        controller.close();
        // A closed byte stream still owes an answer to a reader that brought its own buffer.
        controller.byobRequest?.respond(0);
      } catch (error) {
        controller.error(error);
      }
    },
    async cancel(): Promise<void> {
      await source.return();
    },
  });
}
