/** Recorded failures as the errors that a client gets. */
import { headerOf } from '@orangebox/codec';
import type { Exchange } from '@orangebox/schema';

/** What becomes of a client that reads a recorded exchange. */
export type Outcome =
  /** It ends as a whole message does. */
  | { kind: 'end' }
  /** It fails with this error. */
  | { kind: 'error'; error: Error }
  /** The caller itself gave up: the client is aborted in turn. */
  | { kind: 'abort' };

/** How a recorded exchange ends for its client, once what was recorded of it has been given. */
export function outcomeOf(exchange: Exchange): Outcome {
  switch (exchange.ending) {
    case 'complete':
    case 'upgraded':
    // The program stopped by itself: it saw no error, and nothing more.
    case 'caller_stopped_reading':
      return { kind: 'end' };
    case 'caller_abort':
      return { kind: 'abort' };
    case 'process_exit':
    case 'process_died':
      return exchange.response && isWhole(exchange)
        ? { kind: 'end' }
        : { kind: 'error', error: wrapped(exchange, 'the recording ends here: the process ended') };
    case 'timeout':
      // A client's own timer aborts its fetch; only the platform's timers are wrapped.
      if (exchange.error?.type === 'AbortError') return { kind: 'error', error: abortError() };
      return { kind: 'error', error: wrapped(exchange, 'the recorded exchange timed out') };
    default:
      return { kind: 'error', error: wrapped(exchange, `the recorded exchange ended in ${exchange.ending}`) };
  }
}

/** A response of a stated length that is all there. */
function isWhole(exchange: Exchange): boolean {
  const length = headerOf(exchange.response?.headers, 'content-length');
  return length !== undefined && Number(length) === exchange.response?.body.sizeBytes;
}

/** `fetch` wraps what went wrong on the wire in a `TypeError`, by whether the head had come. */
function wrapped(exchange: Exchange, fallback: string): Error {
  const message = exchange.response ? 'terminated' : 'fetch failed';
  return new TypeError(message, { cause: causeOf(exchange, fallback) });
}

function causeOf(exchange: Exchange, fallback: string): Error {
  const { error } = exchange;
  const cause: Error & { code?: string } = new Error(error?.message ?? fallback);
  if (error) {
    Object.defineProperty(cause, 'name', { value: error.type, configurable: true, writable: true });
    if (error.code !== undefined) cause.code = error.code;
  }
  return cause;
}

/** The error of an aborted `fetch`. */
export function abortError(): DOMException {
  return new DOMException('This operation was aborted', 'AbortError');
}
