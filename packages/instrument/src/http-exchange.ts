/** One `ClientRequest`, its writes and events noted. No listener is added, since listeners change what Node does. */
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { WireExchangeStart } from '@orangebox/recorder';
import { framesNow } from './abort-origin.ts';
import { bodyBytes, NO_BYTES } from './body-bytes.ts';
import { type Instant, instant } from './clock.ts';
import { type Doubt, ExchangeTap, type Leaving } from './exchange-tap.ts';
import { headerPairs, headerValue, parseHeaderText } from './header-text.ts';
import { isConnectError } from './http-errors.ts';
import { HttpResponse } from './http-response.ts';
import { type MethodNotes, tapInternalMethod, tapMethod } from './method-tap.ts';
import type { TapHost } from './tap-host.ts';

/** Private members of Node's request that are read: the head as sent, and the trailers' text. */
interface Internals {
  _header?: string | null;
  _trailer?: string;
}

/** What the program gave to `write` or `end`, until it is noted. */
interface Given {
  chunk: unknown;
  encoding: unknown;
  isEnd: boolean;
}

/** Classes of libraries that answer requests in the process; whether one reaches the network shows with the answer. */
const MOCK = /^Mock|Intercept/;

/** State of one tapped request. The exchange is opened when the head is written. */
export class HttpExchange {
  readonly #host: TapHost;
  readonly #request: ClientRequest;
  readonly #start: WireExchangeStart;
  readonly #since: Instant = instant();
  #tap: ExchangeTap | undefined;
  #response: HttpResponse | undefined;
  /** The head was looked at; without a tap it was not of interest. */
  #decided = false;
  #given: Given | undefined;
  /** By the head; undefined where the body goes out in chunks. */
  #length: number | undefined;
  #givenBytes = 0;
  #isWhole = false;

  constructor(host: TapHost, request: ClientRequest, start: WireExchangeStart) {
    this.#host = host;
    this.#request = request;
    this.#start = start;
    // Noted when the request passes it on, with the head, to a socket that may have sent it when the method returns.
    const notes = (isEnd: boolean): MethodNotes => ({
      before: ([chunk, encoding]) => {
        const isLive = !request.destroyed && !request.writableEnded;
        this.#given = isLive ? { chunk, encoding, isEnd } : undefined;
      },
      after: () => this.#guard(() => this.#noteGiven()),
    });
    tapMethod(request, 'write', notes(false));
    tapMethod(request, 'end', notes(true));
    tapMethod(request, 'flushHeaders', {
      before: () => {
        this.#given = undefined;
      },
      after: () => this.#guard(() => this.#noteHead()),
    });
    tapInternalMethod(request, '_send', { before: () => this.#guard(() => this.#noteGiven()) });
    tapMethod(request, 'destroy', { before: (args) => this.#guard(() => this.#destroying(args[0])) });
    tapMethod(request, 'emit', {
      before: (args) => this.#guard(() => this.#event(args)),
      after: (_result, args) => {
        if (args[0] === 'timeout' && this.#tap && !this.#tap.aborted) this.#tap.timedOut = false;
      },
    });
    // With headers given as an array, or with `Expect`, the head is written by the constructor.
    this.#guard(() => this.#noteHead());
  }

  #noteHead(): ExchangeTap | undefined {
    if (this.#decided) return this.#tap;
    const text = (this.#request as unknown as Internals)._header;
    if (typeof text !== 'string' || text === '') return undefined;
    this.#decided = true;
    const headers = parseHeaderText(text);
    const length = headerValue(headers, 'content-length');
    if (length !== undefined) this.#length = Number(length);
    const { method, url } = this.#start;
    const verdict = this.#host.recognise(
      method,
      url,
      headerValue(headers, 'content-type'),
      headerValue(headers, 'user-agent'),
    );
    if (verdict === 'no') return undefined;
    const doubts: Doubt[] = verdict === 'maybe' ? ['body'] : [];
    const { socket, agent } = this.#request as { socket: Socket | null; agent?: object | false };
    if (isMock(agent || undefined) || isMock(socket ?? undefined)) doubts.push('wire');
    const kind = verdict === 'http' ? 'http' : 'llm';
    const tap = new ExchangeTap(this.#host, { ...this.#start, kind }, doubts, this.#since);
    this.#tap = tap;
    tap.isPaused = () => this.#response?.isPaused() ?? false;
    const { remoteAddress, remotePort } = socket ?? {};
    const peer =
      remoteAddress !== undefined && remotePort !== undefined
        ? { address: remoteAddress, port: remotePort }
        : undefined;
    tap.requestHead(headers, [], peer);
    return tap;
  }

  #noteGiven(): void {
    const given = this.#given;
    this.#given = undefined;
    const tap = given && this.#noteHead();
    if (!tap) return;
    const bytes = bodyBytes(given.chunk, given.encoding) ?? NO_BYTES;
    this.#givenBytes += bytes.length;
    const isWhole = given.isEnd || (this.#length !== undefined && this.#givenBytes >= this.#length);
    const isNews = isWhole && !this.#isWhole;
    this.#isWhole ||= isWhole;
    tap.requestChunk(bytes, isNews ? this.#leaving() : undefined);
  }

  #leaving(): Leaving {
    return this.#request.reusedSocket || this.#isConnected() ? 'now' : 'soon';
  }

  #destroying(reason: unknown): void {
    const tap = this.#tap;
    if (!tap || tap.ended || tap.aborted) return;
    tap.connected ||= this.#isConnected();
    tap.aborted = { frames: framesNow(this.#request.destroy as () => unknown), reason };
  }

  #isConnected(): boolean {
    const { socket } = this.#request as { socket: (Socket & { secureConnecting?: boolean }) | null };
    return socket !== null && !socket.connecting && socket.secureConnecting !== true;
  }

  #event(args: unknown[]): void {
    const tap = this.#noteHead();
    if (!tap) return;
    switch (args[0]) {
      case 'finish':
        // Node also says so when the write failed because the TLS handshake did.
        if (!this.#isConnected()) break;
        tap.connected = true;
        if (this.#request.socket) tap.socket(this.#request.socket);
        tap.requestEnd(this.#trailers());
        break;
      case 'information': {
        const message = args[1] as IncomingMessage;
        tap.informational(Number(message.statusCode), headerPairs(message.rawHeaders));
        break;
      }
      case 'response':
        if (!this.#onWire(tap)) break;
        this.#response ??= new HttpResponse(this.#host, tap, this.#request, args[1] as IncomingMessage);
        break;
      case 'upgrade':
      case 'connect': {
        const message = args[1] as IncomingMessage;
        this.#onWire(tap);
        tap.responseHead({
          status: message.statusCode ?? 0,
          statusText: message.statusMessage ?? '',
          httpVersion: message.httpVersion,
          headers: headerPairs(message.rawHeaders),
        });
        tap.end({ ending: 'upgraded', stage: 'done' });
        break;
      }
      case 'timeout':
        tap.timedOut = true;
        break;
      case 'error':
        this.#failed(tap, args[1]);
        break;
      case 'close':
        this.#closed(tap);
        break;
    }
  }

  /** A response came: over a real connection, or made up by a test library. */
  #onWire(tap: ExchangeTap): boolean {
    const socket = this.#request.socket as (Socket & { _handle?: unknown }) | null;
    if (socket?._handle === null || socket?._handle === undefined) {
      if (tap.doubts('wire')) {
        tap.drop();
        return false;
      }
    }
    tap.settle('wire');
    return true;
  }

  #failed(tap: ExchangeTap, error: unknown): void {
    if (tap.ended) return;
    if (!tap.aborted && !tap.requestDone) tap.connected = !isConnectError(error);
    tap.fail(error);
  }

  #closed(tap: ExchangeTap): void {
    if (tap.ended) return;
    if (this.#response) this.#response.closed();
    else tap.fail(tap.aborted?.reason);
    if (!tap.ended) tap.end({ ending: tap.headSeen ? 'cut' : 'reset', stage: tap.stage });
  }

  #trailers(): [string, string][] | undefined {
    const text = (this.#request as unknown as Internals)._trailer;
    const list = text ? parseHeaderText(text) : [];
    return list.length > 0 ? list : undefined;
  }

  #guard(note: () => void): void {
    try {
      note();
    } catch (error) {
      this.#host.fault('the http tap', error);
    }
  }
}

function isMock(thing: object | undefined): boolean {
  return thing !== undefined && MOCK.test(thing.constructor?.name ?? '');
}
