/** What an adapter gets to read of an exchange: addresses, bodies as text, streams as events. */
import type { Body, Exchange, Json, JsonObject } from '@orangebox/schema';
import { decodeBody } from '../body.ts';
import { headerOf } from '../headers.ts';
import { parseSse, type SseEvent } from '../sse.ts';
import { isObject, parseJson } from './json.ts';
import { parseMultipartFields } from './multipart.ts';

/** Undoes one content encoding (`gzip`, `br`, `deflate`, `zstd`); undefined when it is unknown or damaged. */
export type ContentDecoder = (encoding: string, bytes: Uint8Array) => Uint8Array | undefined;

/** The last attempt of a call, opened. Bodies are decoded when first asked for. */
export class AdapterInput {
  readonly exchange: Exchange;
  readonly method: string;
  readonly host: string;
  /** Path without query and trailing slashes. */
  readonly path: string;
  /** The request's JSON object, or the text fields of a multipart form. */
  readonly request: JsonObject | undefined;
  readonly status: number | undefined;
  readonly #decode: ContentDecoder;
  #responseBytes: Uint8Array | undefined;
  #responseText: string | undefined;
  #responseJson: Json | undefined;
  #events: SseEvent[] | undefined;

  constructor(exchange: Exchange, decode: ContentDecoder) {
    this.exchange = exchange;
    this.#decode = decode;
    this.method = exchange.request.method;
    const address = splitUrl(exchange.request.url);
    this.host = address.host;
    this.path = address.path;
    this.status = exchange.response?.status;
    this.request = this.#readRequest();
  }

  /** Value of a response header. */
  responseHeader(name: string): string | undefined {
    return headerOf(this.exchange.response?.headers, name);
  }

  /** Value of a request header. */
  requestHeader(name: string): string | undefined {
    return headerOf(this.exchange.request.headers, name);
  }

  /** The response body without its content encoding. */
  get responseBytes(): Uint8Array {
    this.#responseBytes ??= this.#readResponseBytes();
    return this.#responseBytes;
  }

  /** The response body as text. */
  get responseText(): string {
    if (this.#responseText === undefined) {
      const response = this.exchange.response;
      const plain = response?.body.form === 'text' && !isEncoded(this.responseHeader('content-encoding'));
      this.#responseText =
        plain && response.body.form === 'text'
          ? withoutBom(response.body.text)
          : new TextDecoder().decode(this.responseBytes);
    }
    return this.#responseText;
  }

  /** The response body as JSON, undefined where it is none. */
  get responseJson(): Json | undefined {
    this.#responseJson ??= parseJson(this.responseText);
    return this.#responseJson;
  }

  /**
   * Whether the response is a stream of server-sent events. The first bytes decide before the content type does: some
   * servers stream what they call JSON, and all answer errors of a streamed request with plain JSON.
   */
  get isSse(): boolean {
    const type = this.responseHeader('content-type') ?? '';
    if (/^(?:image|audio|video)\/|octet-stream|eventstream/i.test(type)) return false;
    const start = this.responseText.slice(0, 64).trimStart();
    if (/^(?:data|event|id|retry)?:/.test(start)) return true;
    return /^text\/event-stream/i.test(type) && !start.startsWith('{');
  }

  /** The events of the response's stream. */
  get events(): SseEvent[] {
    this.#events ??= parseSse(this.responseText);
    return this.#events;
  }

  #readRequest(): JsonObject | undefined {
    const { body } = this.exchange.request;
    if (body.form === 'empty') return undefined;
    const type = this.requestHeader('content-type');
    if (type !== undefined && /^multipart\/form-data/i.test(type)) {
      return parseMultipartFields(bytesOf(body), type);
    }
    const encoding = this.requestHeader('content-encoding');
    const text =
      body.form === 'text' && !isEncoded(encoding)
        ? withoutBom(body.text)
        : new TextDecoder().decode(this.#decoded(bytesOf(body), encoding));
    const json = parseJson(text);
    return isObject(json) ? json : undefined;
  }

  #readResponseBytes(): Uint8Array {
    const response = this.exchange.response;
    if (!response) return new Uint8Array(0);
    const bytes = bytesOf(response.body);
    return response.storedDecoded ? bytes : this.#decoded(bytes, this.responseHeader('content-encoding'));
  }

  #decoded(bytes: Uint8Array, encodings: string | undefined): Uint8Array {
    let out = bytes;
    if (bytes.length === 0 || !isEncoded(encodings)) return out;
    const list = (encodings ?? '').split(',').map((name) => name.trim().toLowerCase());
    for (const encoding of list.reverse()) {
      if (encoding === '' || encoding === 'identity') continue;
      try {
        // Bytes that are not in the encoding they name (a fake server, a proxy that unpacked them) are read as they are.
        out = this.#decode(encoding, out) ?? out;
      } catch {
        return out;
      }
    }
    return out;
  }
}

function isEncoded(encodings: string | undefined): boolean {
  return encodings !== undefined && encodings !== '' && encodings !== 'identity';
}

function withoutBom(text: string): string {
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

function bytesOf(body: Body): Uint8Array {
  try {
    return decodeBody(body);
  } catch {
    return new Uint8Array(0);
  }
}

function splitUrl(url: string): { host: string; path: string } {
  const scheme = url.indexOf('://');
  const from = scheme < 0 ? 0 : scheme + 3;
  const slash = url.indexOf('/', from);
  const authority = scheme < 0 ? '' : url.slice(from, slash < 0 ? url.length : slash);
  const host = authority
    .slice(authority.lastIndexOf('@') + 1)
    .replace(/:\d+$/, '')
    .toLowerCase();
  const path = slash < 0 ? '/' : url.slice(slash).replace(/[?#].*$/s, '');
  return { host, path: path.replace(/\/+$/, '').replace(/%3a/gi, ':') };
}
