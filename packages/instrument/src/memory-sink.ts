/** A sink that keeps everything in memory, for tests of the taps. */
import type { WireEnd, WireExchangeStart, WireSink, WrappedToolRun } from '@orangebox/recorder';
import type { HeaderList } from '@orangebox/schema';

/** What a memory sink kept of one exchange. */
export interface KeptExchange {
  start: WireExchangeStart;
  requestHeaders?: HeaderList;
  derived?: number[];
  peer?: { address: string; port: number } | undefined;
  requestBody: Buffer;
  requestEnded: boolean;
  requestTrailers?: HeaderList | undefined;
  informational: { status: number; headers: HeaderList }[];
  head?: { status: number; statusText: string; httpVersion?: string; headers: HeaderList };
  responseBody: Buffer;
  /** Delivery numbers of head and chunks, in order of arrival. */
  deliveries: number[];
  /** Monotonic offsets in order of arrival. */
  times: number[];
  ends: WireEnd[];
}

/** The sink with what it kept. */
export interface MemorySink extends WireSink {
  exchanges: KeptExchange[];
  tools: WrappedToolRun[];
  flushes: string[];
}

/** Makes an empty sink. */
export function createMemorySink(): MemorySink {
  const exchanges: KeptExchange[] = [];
  const tools: WrappedToolRun[] = [];
  const flushes: string[] = [];
  return {
    exchanges,
    tools,
    flushes,
    open(start) {
      const kept: KeptExchange = {
        start,
        requestBody: Buffer.alloc(0),
        requestEnded: false,
        informational: [],
        responseBody: Buffer.alloc(0),
        deliveries: [],
        times: [],
        ends: [],
      };
      exchanges.push(kept);
      return {
        requestHead(headers, derived, peer) {
          kept.requestHeaders = headers;
          kept.derived = derived;
          kept.peer = peer;
        },
        requestChunk(bytes, at) {
          kept.requestBody = Buffer.concat([kept.requestBody, bytes]);
          kept.times.push(at);
        },
        requestEnd(at, trailers) {
          kept.requestEnded = true;
          kept.requestTrailers = trailers;
          kept.times.push(at);
        },
        informational(status, headers) {
          kept.informational.push({ status, headers });
        },
        responseHead({ atNano, delivery, ...head }) {
          kept.head = head;
          kept.times.push(atNano);
          kept.deliveries.push(delivery);
        },
        responseChunk(bytes, at, delivery) {
          kept.responseBody = Buffer.concat([kept.responseBody, bytes]);
          kept.times.push(at);
          kept.deliveries.push(delivery);
        },
        end(end, at) {
          kept.ends.push(end);
          kept.times.push(at);
        },
      };
    },
    tool(run) {
      tools.push(run);
    },
    flushSync(ending) {
      flushes.push(ending);
    },
    flush() {
      flushes.push('flush');
      return Promise.resolve();
    },
  };
}
