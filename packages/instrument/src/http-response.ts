/** The response of one `ClientRequest`: its head, what is pushed into it, and how it ends. */
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { ExchangeTap } from './exchange-tap.ts';
import { isAbort, isTimeout } from './endings.ts';
import { headerPairs } from './header-text.ts';
import { tapMethod } from './method-tap.ts';
import type { TapHost } from './tap-host.ts';

/** State of one tapped response. */
export class HttpResponse {
  readonly #tap: ExchangeTap;
  readonly #request: ClientRequest;
  readonly #message: IncomingMessage;
  #full = false;
  #error: unknown;

  constructor(host: TapHost, tap: ExchangeTap, request: ClientRequest, message: IncomingMessage) {
    this.#tap = tap;
    this.#request = request;
    this.#message = message;
    const guard = (note: () => void): void => {
      try {
        note();
      } catch (error) {
        host.fault('the http tap', error);
      }
    };
    tap.responseHead({
      status: message.statusCode ?? 0,
      statusText: message.statusMessage ?? '',
      httpVersion: message.httpVersion,
      headers: headerPairs(message.rawHeaders),
    });
    tapMethod(message, 'push', {
      before: (args) => guard(() => this.#pushed(args[0])),
      after: (result) => {
        this.#full = result === false;
      },
    });
    tapMethod(message, 'destroy', { before: (args) => guard(() => this.#destroying(args[0])) });
  }

  /** The program has not taken what is buffered, and the wire waits for it. */
  isPaused(): boolean {
    const { readableLength, readableHighWaterMark } = this.#message;
    return this.#full && readableLength > 0 && readableLength >= readableHighWaterMark;
  }

  /** The request is closed and the response had not ended. */
  closed(): void {
    const { aborted } = this.#tap;
    this.#tap.fail(this.#error ?? aborted?.reason ?? { code: 'ECONNRESET' });
  }

  #pushed(chunk: unknown): void {
    if (chunk instanceof Uint8Array) this.#tap.responseChunk(chunk);
    else if (typeof chunk === 'string') this.#tap.responseChunk(Buffer.from(chunk));
    else if (chunk === null) this.#ended();
  }

  #ended(): void {
    const { complete, rawTrailers } = this.#message;
    if (!complete) return;
    if (this.#dumped()) {
      this.#tap.end({ ending: 'caller_stopped_reading', stage: 'response_body' });
      return;
    }
    const trailers = headerPairs(rawTrailers);
    this.#tap.end({ ending: 'complete', stage: 'done', ...(trailers.length > 0 ? { trailers } : {}) });
  }

  /** Nobody listened for the response, so Node threw its body away unseen. */
  #dumped(): boolean {
    const dumped = (this.#message as unknown as { _dumped?: boolean })._dumped === true;
    const length = this.#message.headers['content-length'];
    const { statusCode = 0 } = this.#message;
    const bodyless = length === '0' || statusCode === 204 || statusCode === 304 || this.#request.method === 'HEAD';
    return dumped && !bodyless;
  }

  #destroying(error: unknown): void {
    if (this.#tap.ended || this.#message.complete) return;
    if (this.#request.destroyed && !this.#tap.aborted) {
      // Node does this when the connection closed within the body.
      this.#error = error;
      return;
    }
    if (this.#tap.aborted) return;
    if (isAbort(error) || isTimeout(error)) {
      this.#tap.aborted = { frames: [], reason: error };
      this.#tap.fail(error);
    } else this.#tap.end({ ending: 'caller_stopped_reading', stage: 'response_body', error });
  }
}
