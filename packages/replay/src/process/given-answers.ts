/** Gives the program what recorded exchanges brought it. */
import type { ExchangeRecords } from '@orangebox/codec';
import type { AskedRequests } from './asked-requests.ts';
import { recordedError, ResponseBytes } from './response-bytes.ts';
import type { AnswerEvent } from './run-events.ts';

/** Answers that are kept for an explanation, and the longest that is looked through. */
const KEPT_ANSWERS = 50;
const MAX_ANSWER_CHARS = 256 * 1024;

/** The answers of a thread. */
export class GivenAnswers {
  /** The last ones, by index of their request. */
  readonly kept: { index: number; text: string }[] = [];
  readonly #requests: AskedRequests;
  readonly #bytes: Map<ExchangeRecords, ResponseBytes> = new Map();

  constructor(requests: AskedRequests) {
    this.#requests = requests;
  }

  /** Whether the program is where what came of an exchange can be given. */
  isReady({ exchange, kind, cameUnasked }: AnswerEvent): boolean {
    const asked = this.#requests.askedFor(exchange);
    if (asked?.connection === undefined) return false;
    if (asked.isEnded) return kind === 'end' && asked.isWholeEarly;
    // What the recorded client read at once is not for one that still holds back what came before.
    return kind !== 'chunk' || cameUnasked || !(asked.isPaused() || asked.connection.readableLength > 0);
  }

  /** Gives what came of an exchange in one turn. */
  give(exchange: ExchangeRecords, events: readonly AnswerEvent[]): void {
    const asked = this.#requests.askedFor(exchange);
    const socket = asked?.connection;
    if (!asked || !socket) return;
    let bytes = this.#bytes.get(exchange);
    if (!bytes) this.#bytes.set(exchange, (bytes = new ResponseBytes(exchange)));
    const parts: Uint8Array[] = [];
    let isEnd = false;
    for (const event of events) {
      if (event.kind === 'head') parts.push(bytes.head());
      else if (event.kind === 'chunk') parts.push(bytes.chunk(event.chunk.bytes));
      else if (event.kind === 'end') isEnd = true;
    }
    if (!isEnd) {
      socket.receive(Buffer.concat(parts));
      return;
    }
    this.#bytes.delete(exchange);
    this.#keep(exchange);
    asked.isEndGiven = true;
    const { end } = exchange;
    if (end?.ending === 'complete') {
      parts.push(bytes.end());
      const whole = Buffer.concat(parts);
      if (whole.length > 0) socket.receive(whole);
      if (bytes.closes) socket.finish();
      return;
    }
    if (parts.length > 0) socket.receive(Buffer.concat(parts));
    // A server that closes in order leaves no error of the platform's behind.
    if (end?.error?.code === 'UND_ERR_SOCKET' || end?.error?.message === 'socket hang up') socket.finish();
    else socket.break(recordedError(exchange));
  }

  /** Values in an answer stand for themselves from now on. */
  #keep(exchange: ExchangeRecords): void {
    const bytes = Buffer.concat(exchange.responseChunks.map((chunk) => chunk.bytes));
    if (bytes.length > MAX_ANSWER_CHARS) return;
    const text = bytes.toString('utf8');
    this.#requests.matcher.noteServed(text);
    this.kept.push({ index: this.#requests.indexOf(exchange), text });
    if (this.kept.length > KEPT_ANSWERS) this.kept.shift();
  }
}
