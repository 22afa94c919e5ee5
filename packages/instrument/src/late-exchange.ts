/** An exchange that began before the recorder was loaded: keeps what is told until there is somebody to tell it to. */
import type { WireEnd, WireExchange, WireExchangeStart, WireSink } from '@orangebox/recorder';
import type { HeaderList } from '@orangebox/schema';

type Told = (to: WireExchange) => void;

/** Holds everything it is told, and passes it on once {@link LateExchange.attach} was called. */
export class LateExchange implements WireExchange {
  readonly #start: WireExchangeStart;
  #told: Told[] | undefined = [];
  #to: WireExchange | undefined;

  constructor(start: WireExchangeStart) {
    this.#start = start;
  }

  /** Opens the exchange at the sink and tells it what was kept; without a sink all is forgotten. */
  attach(sink: WireSink | undefined): void {
    const told = this.#told;
    this.#told = undefined;
    this.#to = sink?.open(this.#start);
    for (const one of told ?? []) this.#tell(one);
  }

  requestHead(headers: HeaderList, derivedHeaders: number[], peer?: { address: string; port: number }): void {
    this.#tell((to) => to.requestHead(headers, derivedHeaders, peer));
  }

  requestChunk(bytes: Uint8Array, atNano: number, isLast?: boolean): void {
    const own = this.#own(bytes);
    this.#tell((to) => to.requestChunk(own, atNano, isLast));
  }

  requestEnd(atNano: number, trailers?: HeaderList, seq?: number): void {
    this.#tell((to) => to.requestEnd(atNano, trailers, seq));
  }

  informational(status: number, headers: HeaderList): void {
    this.#tell((to) => to.informational(status, headers));
  }

  responseHead(head: Parameters<WireExchange['responseHead']>[0]): void {
    this.#tell((to) => to.responseHead(head));
  }

  responseChunk(bytes: Uint8Array, atNano: number, delivery: number): void {
    const own = this.#own(bytes);
    this.#tell((to) => to.responseChunk(own, atNano, delivery));
  }

  end(end: WireEnd, atNano: number): void {
    this.#tell((to) => to.end(end, atNano));
  }

  /** The tap's bytes are only valid within the call. */
  #own(bytes: Uint8Array): Uint8Array {
    return this.#told ? Buffer.from(bytes) : bytes;
  }

  #tell(one: Told): void {
    if (this.#told) this.#told.push(one);
    else if (this.#to) one(this.#to);
  }
}
