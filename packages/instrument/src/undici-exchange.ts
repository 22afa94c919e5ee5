/** One request instance of undici, its methods noted. Undici 8 renamed them; whichever the instance has are tapped. */
import type { WireExchangeStart } from '@orangebox/recorder';
import { framesNow } from './abort-origin.ts';
import { bodyBytes, NO_BYTES } from './body-bytes.ts';
import { type Doubt, ExchangeTap } from './exchange-tap.ts';
import { headerPairs, parseHeaderText } from './header-text.ts';
import { type MethodNotes, tapInternalMethod } from './method-tap.ts';
import type { TapHost } from './tap-host.ts';
import { addFraming, knownBodyLength, type UndiciBody } from './undici-framing.ts';
import { type SendNotes, type SendSocket, watchSend } from './undici-send.ts';

/** Members of undici's request object that are read. */
export interface UndiciRequest extends UndiciBody {
  path: string;
  origin: string | { origin: string } | null;
  host?: string | null;
  headers: unknown;
  contentType?: unknown;
}

interface ClientSocket extends SendSocket {
  remoteAddress?: string;
  remotePort?: number;
}

/** State of one tapped request. */
export class UndiciExchange {
  /** The client called one of the tapped methods. */
  called = false;

  readonly #host: TapHost;
  readonly #request: UndiciRequest;
  readonly #start: WireExchangeStart;
  readonly #doubts: Doubt[];
  #tap: ExchangeTap;
  #headerText: string | undefined;
  #length: number | undefined;
  #peer: { address: string; port: number } | undefined;
  #headNoted = false;
  /** Body bytes that were noted before the socket had them; the client tells of them afterwards. */
  #notedEarly: unknown;
  #stopWatching: (() => void) | undefined;

  constructor(host: TapHost, request: UndiciRequest, start: WireExchangeStart, doubts: Doubt[]) {
    this.#host = host;
    this.#request = request;
    this.#start = start;
    this.#doubts = doubts;
    this.#tap = new ExchangeTap(host, start, doubts);
    const onStart = { before: (args: unknown[]) => this.#guard(() => this.#started(args)) };
    const onHead = {
      before: (args: unknown[]) => this.#guard(() => this.#head(args)),
      after: (result: unknown) => this.#flow(result),
    };
    const onData = {
      before: (args: unknown[]) => this.#guard(() => this.#tap.responseChunk(args[0] as Uint8Array)),
      after: (result: unknown) => this.#flow(result),
    };
    const onEnd = { before: (args: unknown[]) => this.#guard(() => this.#completed(args[0])) };
    const onError = { before: (args: unknown[]) => this.#guard(() => this.#failed(args[0])) };
    const onUpgrade = { before: (args: unknown[]) => this.#guard(() => this.#upgraded(args)) };
    const tap = (name: string, notes: MethodNotes): boolean => tapInternalMethod(request, name, notes) !== undefined;
    const found = [
      tap('onConnect', onStart) || tap('onRequestStart', onStart),
      tap('onHeaders', onHead) || tap('onResponseStart', onHead),
      tap('onData', onData) || tap('onResponseData', onData),
      tap('onComplete', onEnd) || tap('onResponseEnd', onEnd),
      tap('onError', onError) || tap('onResponseError', onError),
      tap('onBodySent', { before: (args) => this.#guard(() => this.#bodySent(args[0])) }),
      tap('onRequestSent', { before: () => this.#guard(() => this.#sent()) }),
    ];
    void (tap('onUpgrade', onUpgrade) || tap('onRequestUpgrade', onUpgrade));
    if (found.includes(false)) {
      host.warn(
        'this version of undici lacks a request method that the recorder needs; its requests may be recorded in part',
      );
    }
  }

  /** The header text goes to the socket next. */
  sendHeaders(text: string, socket: ClientSocket | undefined): void {
    this.#tap.connected = true;
    this.#headerText = text;
    this.#length = knownBodyLength(this.#request);
    if (socket) this.#tap.socket(socket);
    const { remoteAddress, remotePort } = socket ?? {};
    if (remoteAddress !== undefined && remotePort !== undefined) {
      this.#peer = { address: remoteAddress, port: remotePort };
    }
    this.#beforeSend(socket, text);
  }

  /** What leaves is noted before it does: the server may have it before the client's next line runs. */
  #beforeSend(socket: ClientSocket | undefined, text: string): void {
    this.#stopWatching?.();
    const { body } = this.#request;
    const bytes = body === null || body === undefined ? NO_BYTES : ArrayBuffer.isView(body) && bodyBytes(body);
    if (bytes) this.#leaves(body, bytes, true);
    // The bytes of HTTP/2 go another way.
    else if (socket && text.includes(' HTTP/1.1\r\n')) this.#stopWatching = watchSend(socket, text, this.#sendNotes());
  }

  #sendNotes(): SendNotes {
    return {
      // Only undici knows how long a form is once serialised.
      head: (bodyBytes) => {
        this.#length = bodyBytes;
      },
      body: (part, bytes, isLast) => this.#try(() => this.#leaves(part, bytes, isLast)),
    };
  }

  #leaves(part: unknown, bytes: Uint8Array, isLast: boolean): void {
    this.#noteHead(bytes.length > 0);
    this.#notedEarly = part;
    this.#tap.requestChunk(bytes, isLast ? 'now' : undefined);
  }

  /** The tap does not work for this request. */
  giveUp(): void {
    this.#tap.end({ ending: 'error', stage: this.#tap.stage });
  }

  #started(args: unknown[]): void {
    if (this.#headNoted && !this.#tap.ended) {
      // The client sends the same request again, on another connection: the first try is over.
      this.#tap.end({ ending: 'reset', stage: this.#tap.stage });
      this.#tap = new ExchangeTap(this.#host, this.#start, this.#doubts);
      this.#headNoted = false;
      this.#notedEarly = undefined;
    }
    const tap = this.#tap;
    tap.connected = true;
    const abort: unknown = args[0];
    if (typeof abort !== 'function') return;
    const noted = function (this: unknown, ...abortArgs: unknown[]): unknown {
      if (!tap.ended && !tap.aborted) {
        tap.aborted = { frames: framesNow(noted), reason: abortArgs[0] };
      }
      return Reflect.apply(abort, this, abortArgs);
    };
    args[0] = noted;
  }

  #noteHead(sentBytes: boolean): void {
    if (this.#headNoted) return;
    this.#headNoted = true;
    const text = this.#headerText;
    const headers = text === undefined ? headerPairs(this.#request.headers) : parseHeaderText(text);
    const derived = addFraming(headers, this.#request, this.#length, sentBytes);
    this.#tap.requestHead(headers, derived, this.#peer);
  }

  #bodySent(chunk: unknown): void {
    const isNoted = this.#notedEarly === chunk;
    this.#notedEarly = undefined;
    const bytes = isNoted ? undefined : bodyBytes(chunk);
    if (!bytes) return;
    this.#noteHead(true);
    this.#tap.requestChunk(bytes);
  }

  #sent(): void {
    this.#stopWatching?.();
    this.#noteHead(false);
    this.#tap.requestEnd();
  }

  #head(args: unknown[]): void {
    const status = Number(args[0]);
    const headers = headerPairs(args[1]);
    if (status < 200 && status !== 101) {
      this.#tap.informational(status, headers);
      return;
    }
    const resume: unknown = args[2];
    if (typeof resume === 'function') {
      const tap = this.#tap;
      args[2] = function (this: unknown, ...resumeArgs: unknown[]): unknown {
        tap.isResuming = tap.paused;
        tap.paused = false;
        try {
          return Reflect.apply(resume, this, resumeArgs);
        } finally {
          tap.isResuming = false;
        }
      };
    }
    this.#tap.responseHead({ status, statusText: textOf(args[3]), headers });
  }

  #flow(result: unknown): void {
    this.#tap.paused = result === false;
  }

  #completed(rawTrailers: unknown): void {
    // A server may answer in full before it has the request.
    this.#stopWatching?.();
    const trailers = headerPairs(rawTrailers);
    this.#tap.end({ ending: 'complete', stage: 'done', ...(trailers.length > 0 ? { trailers } : {}) });
  }

  #failed(error: unknown): void {
    this.#stopWatching?.();
    if (!this.#headNoted && !this.#tap.ended) this.#noteUnsent();
    this.#tap.fail(error);
  }

  /** Nothing went out: what would have been sent is worth knowing, as far as the client holds it. */
  #noteUnsent(): void {
    this.#headNoted = true;
    const headers = headerPairs(this.#request.headers);
    if (this.#request.contentLength !== null) {
      headers.push(['content-length', String(this.#request.contentLength)]);
    }
    this.#tap.requestHead(headers, headers.length > 0 ? headers.map((_, index) => index) : []);
    const { body } = this.#request;
    const bytes = ArrayBuffer.isView(body) && bodyBytes(body);
    if (bytes) this.#tap.requestChunk(bytes);
  }

  #upgraded(args: unknown[]): void {
    if (args[0] !== null && args[0] !== undefined) {
      this.#tap.responseHead({
        status: Number(args[0]),
        statusText: textOf(args[3]),
        headers: headerPairs(args[1]),
      });
    }
    this.#tap.end({ ending: 'upgraded', stage: 'done' });
  }

  #guard(note: () => void): void {
    this.called = true;
    this.#try(note);
  }

  #try(note: () => void): void {
    try {
      note();
    } catch (error) {
      this.#host.fault('the undici tap', error);
    }
  }
}

/** A form of the platform's class or of an npm undici's own. */
export function isForm(body: unknown): boolean {
  return (
    typeof body === 'object' &&
    body !== null &&
    (body as { [Symbol.toStringTag]?: unknown })[Symbol.toStringTag] === 'FormData'
  );
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
