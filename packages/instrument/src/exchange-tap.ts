/** One exchange between a client's tap and the sink: decides ambiguous requests, keeps the stage, ends exactly once. */
import { CONFIRM_BODY_MAX_BYTES, confirmBody } from '@orangebox/codec';
import type { WireEnd, WireExchange, WireExchangeStart } from '@orangebox/recorder';
import type { HeaderList, Stage } from '@orangebox/schema';
import type { Frame } from './abort-origin.ts';
import { onArrival } from './arrivals.ts';
import { type Instant, instant, nanosSince, nextArrival, nextDelivery, nextSeq } from './clock.ts';
import { endingOf } from './endings.ts';

/** What an exchange needs of the runtime. */
export interface ExchangeHost {
  /** Opens the exchange at the sink; undefined if there is none. Never throws. */
  open(start: WireExchangeStart): WireExchange | undefined;
  fault(place: string, error: unknown): void;
  /** Exchanges that have not ended. */
  readonly openTaps: Set<ExchangeTap>;
  /** A request that is open is whole and about to leave: at once, or when its connection is made. */
  leaving(when: Leaving): void;
  /** An ambiguous request turned out not to be an LLM call. */
  dropped(start: WireExchangeStart): void;
  /** The run is to be replayed: beginnings and ends of exchanges have their place in the order, too. */
  readonly isRun?: boolean;
  /** Of a run: sockets that recorded requests went over. */
  readonly claimed?: WeakSet<object>;
  /** Of a run: where recorded requests found no connection. */
  readonly unreached?: Set<string>;
}

/**
 * Why an exchange is held in memory first: `body` until its first bytes tell whether it is an LLM call, `wire` until it
 * is seen that it reaches the network at all (a test library may answer it).
 */
export type Doubt = 'body' | 'wire';

/** When a request leaves: with the program's next step, or once there is a connection, in a later phase of the event loop. */
export type Leaving = 'now' | 'soon';

type Held = (sink: WireExchange) => void;

/** A response head as the clients' taps know it. */
export interface TapResponseHead {
  status: number;
  statusText: string;
  httpVersion?: string;
  headers: HeaderList;
}

/** State of one exchange. Methods never throw and do nothing after the end. */
export class ExchangeTap {
  /** The program does not take bytes at the moment. */
  paused = false;
  /** The client hands on what it held back, at this moment. */
  isResuming = false;
  /** A `timeout` event was seen. */
  timedOut = false;
  /** How the program tore the exchange down, if it did. */
  aborted: { frames: readonly Frame[]; reason: unknown } | undefined;
  connected = false;
  requestDone = false;
  headSeen = false;
  ended = false;

  readonly #host: ExchangeHost;
  readonly #start: WireExchangeStart;
  readonly #since: Instant;
  #sink: WireExchange | undefined;
  /** What came while it is open whether the exchange is recorded; undefined once decided. */
  #held: Held[] | undefined;
  readonly #doubts: Set<Doubt>;
  /** Of a run: the connection, how much of it had been read at the last delivery, and the place of that. */
  #socket: { bytesRead?: number } | undefined;
  #bytesRead: number | undefined;
  #delivery = 0;
  /** Where bytes came that a paused client has not taken yet. */
  #arrival: number | undefined;
  /** The first body bytes, while they may have to be looked at. */
  #first: Uint8Array[] = [];
  #firstBytes = 0;
  /** Looking begins anew each time, so it waits until there is twice as much: the work stays in proportion to the body. */
  #nextLookBytes = 1;

  constructor(host: ExchangeHost, start: WireExchangeStart, doubts: Doubt[] = [], since: Instant = instant()) {
    this.#host = host;
    this.#start = host.isRun === true ? { ...start, seq: nextSeq() } : start;
    this.#since = since;
    this.#doubts = new Set(doubts);
    if (doubts.length === 0) this.#open();
    else this.#held = [];
    if (!this.ended) host.openTaps.add(this);
  }

  /** Whether the wire waits for the program, at this moment. */
  isPaused: () => boolean = () => this.paused;

  /** How far the exchange has come. */
  get stage(): Stage {
    if (this.headSeen) return 'response_body';
    if (this.requestDone) return 'response_head';
    return this.connected ? 'request' : 'connect';
  }

  /** The connection that the request goes out on. */
  socket(socket: object): void {
    if (this.#host.isRun !== true) return;
    this.#host.claimed?.add(socket);
    this.#socket = socket;
    onArrival(socket, () => {
      if (!this.ended && this.paused) this.#arrival ??= nextArrival();
    });
    this.#emit((sink) => sink.socket?.(socket, () => this.isPaused()));
  }

  requestHead(headers: HeaderList, derived: number[] = [], peer?: { address: string; port: number }): void {
    this.#emit((sink) => sink.requestHead(headers, derived, peer));
  }

  /** Bytes of the body. `leaving` says that the request is whole with them, and that none of them has left yet. */
  requestChunk(bytes: Uint8Array, leaving?: Leaving): void {
    const isLast = leaving !== undefined;
    if (this.ended || (bytes.byteLength === 0 && !isLast)) return;
    const at = nanosSince(this.#since);
    if (this.#held === undefined) {
      this.#emit((sink) => sink.requestChunk(bytes, at, isLast));
    } else {
      const copy = Buffer.from(bytes);
      this.#held.push((sink) => sink.requestChunk(copy, at, isLast));
      if (this.#doubts.has('body')) this.#lookAt(copy, isLast);
    }
    if (isLast && !this.ended && this.#held === undefined) this.#host.leaving(leaving);
  }

  /** Looks at the first bytes, of which these are the next. */
  #lookAt(bytes: Buffer, isLast: boolean): void {
    this.#first.push(bytes);
    this.#firstBytes += bytes.byteLength;
    if (isLast || this.#firstBytes >= CONFIRM_BODY_MAX_BYTES) this.#decideBody();
    else if (this.#firstBytes >= this.#nextLookBytes) {
      this.#nextLookBytes = 2 * this.#firstBytes;
      this.#look();
    }
  }

  /** Whether this doubt still stands. */
  doubts(doubt: Doubt): boolean {
    return !this.ended && this.#doubts.has(doubt);
  }

  /** Takes a doubt away; with the last one the exchange is opened and what was held goes out. */
  settle(doubt: Doubt): void {
    if (this.ended || !this.#doubts.delete(doubt) || this.#doubts.size > 0) return;
    this.#first = [];
    this.#open();
  }

  requestEnd(trailers?: HeaderList): void {
    if (this.requestDone) return;
    this.requestDone = true;
    this.#decideBody();
    const at = nanosSince(this.#since);
    const seq = this.#host.isRun === true ? nextSeq() : undefined;
    this.#emit((sink) => sink.requestEnd(at, trailers, seq));
    // Of a body in chunks the end may not be out yet.
    if (!this.ended && this.#held === undefined) this.#host.leaving('now');
  }

  informational(status: number, headers: HeaderList): void {
    this.connected = true;
    this.#emit((sink) => sink.informational(status, headers));
  }

  responseHead(head: TapResponseHead): void {
    if (this.ended) return;
    this.connected = true;
    this.headSeen = true;
    // A server may answer before it took the whole request.
    this.#decideBody();
    const atNano = nanosSince(this.#since);
    const delivery = this.#delivered();
    this.#emit((sink) => sink.responseHead({ ...head, atNano, delivery }));
  }

  responseChunk(bytes: Uint8Array): void {
    if (this.ended || bytes.byteLength === 0) return;
    const at = nanosSince(this.#since);
    const delivery = this.#delivered();
    if (this.#held) {
      this.#held.push((sink) => sink.responseChunk(bytes, at, delivery));
      return;
    }
    try {
      this.#sink?.responseChunk(bytes, at, delivery);
    } catch (error) {
      this.#host.fault('recording an exchange', error);
    }
  }

  /** Ends the exchange; only the first call counts. */
  end(end: WireEnd): void {
    if (this.ended) return;
    this.#decideBody();
    if (this.#held) {
      this.drop();
      return;
    }
    const at = nanosSince(this.#since);
    const sink = this.#sink;
    this.#close();
    try {
      if (this.#host.isRun === true && end.ending === 'connect_failed') {
        this.#host.unreached?.add(peerOf(this.#start.url));
      }
      sink?.end(this.#host.isRun === true ? { ...end, delivery: this.#placeOf(end) } : end, at);
    } catch (error) {
      this.#host.fault('recording the end of an exchange', error);
    }
  }

  /** What the program itself ends is no delivery. */
  #placeOf({ ending }: WireEnd): number {
    const isOwn = this.aborted !== undefined || ending === 'caller_stopped_reading' || ending === 'process_exit';
    return isOwn ? nextSeq() : this.#delivered();
  }

  /**
   * The place of what came. A client that is paused keeps what it has read, and hands it on when its reader asks for more: that has
   * the place of what was read with it, since it came with that.
   */
  #delivered(): number {
    if (this.#host.isRun !== true) return nextDelivery();
    const bytesRead = this.#socket?.bytesRead;
    const isHeld = this.paused || this.isResuming;
    const hadCome = isHeld && bytesRead !== undefined && bytesRead === this.#bytesRead;
    if (!hadCome) this.#delivery = (isHeld ? this.#arrival : undefined) ?? nextDelivery();
    this.#arrival = undefined;
    this.#bytesRead = bytesRead;
    return this.#delivery;
  }

  /** Ends the exchange with the word that fits an error. */
  fail(error: unknown): void {
    if (this.ended) return;
    const { stage, aborted, timedOut } = this;
    this.end({ ending: endingOf({ error, stage, aborted, timedOut }), stage, error });
  }

  /** No more bytes are waited for: it is an LLM call by now, or none. */
  #decideBody(): void {
    if (this.doubts('body') && !this.#look()) this.drop();
  }

  #look(): boolean {
    const isCall = confirmBody(Buffer.concat(this.#first));
    if (isCall) this.settle('body');
    return isCall;
  }

  #open(): void {
    this.#sink = this.#host.open(this.#start);
    const held = this.#held;
    this.#held = undefined;
    if (this.#sink === undefined) this.#close();
    else for (const one of held ?? []) this.#emit(one);
  }

  /** Forgets an exchange that is held. */
  drop(): void {
    if (this.ended) return;
    this.#close();
    this.#host.dropped(this.#start);
  }

  #close(): void {
    this.ended = true;
    this.#held = undefined;
    this.#sink = undefined;
    this.#first = [];
    this.#host.openTaps.delete(this);
  }

  #emit(one: Held): void {
    if (this.ended) return;
    if (this.#held) {
      this.#held.push(one);
      return;
    }
    try {
      if (this.#sink) one(this.#sink);
    } catch (error) {
      this.#host.fault('recording an exchange', error);
    }
  }
}

/** `host:port`, as connections are named. */
function peerOf(url: string): string {
  const { hostname, port, protocol } = new URL(url);
  return `${hostname.replace(/^\[|\]$/g, '')}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`;
}
