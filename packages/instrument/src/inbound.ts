/** The inbound HTTP request that the program serves, so that all calls of one request share a trace. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { InboundRequest } from '@orangebox/recorder';
import { randomSpanId, randomTraceId } from './ids.ts';
import { enterInbound } from './scope.ts';

const START = 'http.server.request.start';
const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/;

/** Starts noting inbound requests; the result undoes it. */
export function installInbound(fault: (place: string, error: unknown) => void): () => void {
  const onStart = (message: unknown): void => {
    try {
      const { request } = message as { request: { rawHeaders: string[]; method?: string; url?: string } };
      enterInbound(new Inbound(traceparentOf(request.rawHeaders), request.method, request.url));
    } catch (error) {
      fault('noting an inbound request', error);
    }
  };
  subscribe(START, onStart);
  return () => {
    unsubscribe(START, onStart);
  };
}

/** Most inbound requests never make an LLM call, so ids are made when they are asked for. */
export class Inbound implements InboundRequest {
  #traceparent: string | undefined;
  /** As they came: frameworks rewrite those of the request. */
  #method: string | undefined;
  #url: string | undefined;
  #ids: { traceId: string; spanId: string; sampled: boolean } | undefined;

  constructor(traceparent?: string, method?: string, url?: string) {
    this.#traceparent = traceparent;
    this.#method = method;
    this.#url = url;
  }

  /** Method and path, without the query. */
  get route(): string {
    const [path = ''] = (this.#url ?? '').split('?', 1);
    return `${this.#method ?? ''} ${path}`;
  }

  get traceId(): string {
    return this.#get().traceId;
  }

  get spanId(): string {
    return this.#get().spanId;
  }

  get sampled(): boolean {
    return this.#get().sampled;
  }

  #get(): { traceId: string; spanId: string; sampled: boolean } {
    this.#ids ??= parseTraceparent(this.#traceparent) ?? {
      traceId: randomTraceId(),
      spanId: randomSpanId(),
      sampled: true,
    };
    return this.#ids;
  }
}

/** Reads a `traceparent` header (https://www.w3.org/TR/trace-context/); undefined unless valid. */
export function parseTraceparent(
  text: string | undefined,
): { traceId: string; spanId: string; sampled: boolean } | undefined {
  const found = text === undefined ? null : TRACEPARENT.exec(text.trim());
  if (found === null || text?.startsWith('ff')) return undefined;
  const [, traceId = '', spanId = '', flags = '00'] = found;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** Looks in the raw list, since the parsed `headers` object is only made when somebody asks for it. */
function traceparentOf(rawHeaders: readonly string[]): string | undefined {
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === 11 && name.toLowerCase() === 'traceparent') return rawHeaders[i + 1];
  }
  return undefined;
}
