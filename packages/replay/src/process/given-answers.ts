/** Gives the program what recorded exchanges brought it. */
import type { ExchangeRecords } from '@orangebox/codec';
import type { AskedRequests } from './asked-requests.ts';
import { recordedError, ResponseBytes } from './response-bytes.ts';
import type { AnswerEvent } from './run-events.ts';

/** Answers that are kept for an explanation, and the longest that is looked through. */
const KEPT_ANSWERS = 50;
const MAX_ANSWER_CHARS = 256 * 1024;

const NO_BYTES = new Uint8Array(0);

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
    // What a client read at once comes at once. What waited for it (one number for all of it) came piece by piece: from Node.js 26 on
    // it is taken so.
    const reads: Uint8Array[][] = [];
    events.forEach((event, i) => {
      const part = partOf(event, bytes);
      if (i > 0 && events[i - 1]?.seq !== event.seq) reads.at(-1)?.push(part);
      else reads.push([part]);
    });
    asked.isEndGiven = events.at(-1)?.kind === 'end';
    if (asked.isEndGiven) {
      this.#bytes.delete(exchange);
      this.#keep(exchange);
    }
    for (const parts of reads) socket.receive(Buffer.concat(parts));
    if (!asked.isEndGiven) return;
    const { end } = exchange;
    if (end?.ending === 'complete') {
      if (bytes.closes) socket.finish();
      return;
    }
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

/** The bytes of an event; those of an end where it is in order. */
function partOf(event: AnswerEvent, bytes: ResponseBytes): Uint8Array {
  if (event.kind === 'head') return bytes.head();
  if (event.kind === 'chunk') return bytes.chunk(event.chunk.bytes);
  return event.exchange.end?.ending === 'complete' ? bytes.end() : NO_BYTES;
}
