/** A trace backend that is asked which one it is only when it is asked for something. */
import { openTraceSource, type SourceSpan, type SpanQuery, type TraceSource } from '@orangebox/store';
import { type SourcePlace, shownUrl } from './places.ts';

/** The backend of a place; a fault of finding out what it is comes with the first question. */
export function lazySource({ url, headers }: Pick<SourcePlace, 'url' | 'headers'>): TraceSource {
  let opened: Promise<TraceSource> | undefined;
  const source = async (): Promise<TraceSource> => {
    opened ??= openTraceSource(url, { headers });
    try {
      return await opened;
    } catch (error) {
      opened = undefined;
      throw error;
    }
  };
  return {
    kind: /^tempo\+/i.test(url) ? 'tempo' : 'jaeger',
    location: shownUrl(url),
    trace: async (traceId: string): Promise<SourceSpan[]> => (await source()).trace(traceId),
    search: async (query: SpanQuery) => (await source()).search(query),
  };
}
