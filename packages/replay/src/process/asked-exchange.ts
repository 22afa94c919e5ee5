/** A request that the program makes again: what it asks, and the recorded exchange that answers it. */
import type { ExchangeRecords } from '@orangebox/codec';
import type { Ending, HeaderList, ScopeFrame } from '@orangebox/schema';
import type { AskedRequest } from '../matching/types.ts';
import { ReplaySocket } from './replay-socket.ts';

/** What is known when the request is made. */
export interface AskedStart {
  client: 'undici' | 'http';
  method: string;
  url: string;
  context: { scope: readonly ScopeFrame[] };
}

/** Who is told of it. */
export interface AskedHost {
  /** The request is whole. */
  whole(asked: AskedExchange): void;
  /** The client is done with it. */
  ended(asked: AskedExchange, ending: Ending): void;
  /** Something happened. */
  moved(): void;
}

/** One such request; the taps of the recorder tell it what they see. */
export class AskedExchange {
  readonly start: AskedStart;
  /** The recorded exchange, once it is matched. */
  recorded: ExchangeRecords | undefined;
  connection: ReplaySocket | undefined;
  isEnded = false;
  /** The replay itself has given the end. */
  isEndGiven = false;
  /** The answer was whole before its end was given, which has no bytes. */
  isWholeEarly = false;
  /** Whether the client takes nothing from its connection now. */
  isPaused: () => boolean = () => false;
  readonly #host: AskedHost;
  #headers: HeaderList = [];
  #body: Uint8Array[] = [];
  #isWhole = false;

  constructor(start: AskedStart, host: AskedHost) {
    this.start = start;
    this.#host = host;
  }

  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** What the matcher is asked. */
  get request(): AskedRequest {
    const { method, url, context } = this.start;
    return {
      scope: scopeOf(context.scope),
      method,
      url,
      headers: this.#headers,
      body: Buffer.concat(this.#body),
    };
  }

  requestHead(headers: HeaderList): void {
    this.#headers = headers;
    this.#host.moved();
  }

  requestChunk(bytes: Uint8Array, _atNano: number, isLast = false): void {
    if (bytes.length > 0) this.#body.push(Buffer.from(bytes));
    this.#host.moved();
    if (isLast) this.requestEnd();
  }

  requestEnd(): void {
    if (this.#isWhole) return;
    this.#isWhole = true;
    this.#host.whole(this);
  }

  socket(socket: object, isPaused: () => boolean): void {
    if (socket instanceof ReplaySocket) this.connection = socket;
    this.isPaused = isPaused;
    this.#host.moved();
  }

  informational(): void {
    this.#host.moved();
  }

  responseHead(): void {
    this.#host.moved();
  }

  responseChunk(): void {
    this.#host.moved();
  }

  end({ ending }: { ending: Ending }): void {
    if (this.isEnded) return;
    this.isEnded = true;
    this.#host.ended(this, ending);
  }
}

/** Causal place as text. */
export function scopeOf(frames: readonly ScopeFrame[]): string[] {
  return frames.map(({ kind, name }) => `${kind}:${name}`);
}
