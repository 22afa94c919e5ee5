/** The spans that the recorder keeps in its segments: a trace source without a server. */
import { join } from 'node:path';
import { INSTRUMENTATION_SCOPE, type ProcessInfo, SEGMENTS_DIRECTORY } from '@orangebox/schema';
import { unixMs } from '../filter.ts';
import type { IndexedRecord } from '../segments/indexed-record.ts';
import { LocalIndex } from '../segments/local-index.ts';
import { readRecordAt } from '../segments/read-record.ts';
import { newAttributes } from './foreign-json.ts';
import { selectSpans } from './orangebox-spans.ts';
import { otlpSpan } from './otlp-answer.ts';
import type { SourceSpan, SpanAttribute, SpanQuery, SpanSearch, TraceSource } from './trace-source.ts';

/** Opens the segments of an `ORANGEBOX_DIR` as a trace source. Nothing is read yet. */
export function createLocalSource(directory: string): TraceSource {
  return new LocalSource(directory);
}

class LocalSource implements TraceSource {
  readonly kind = 'local';
  readonly location: string;
  readonly #index: LocalIndex;

  constructor(directory: string) {
    this.location = directory;
    this.#index = new LocalIndex(join(directory, SEGMENTS_DIRECTORY));
  }

  async trace(traceId: string): Promise<SourceSpan[]> {
    const { records } = await this.#index.look();
    return records.filter((record) => record.traceId === traceId).flatMap(spansOf);
  }

  async search(query: SpanQuery): Promise<SpanSearch> {
    const { records } = await this.#index.look();
    const until = query.untilUnixMs ?? Number.POSITIVE_INFINITY;
    const within = records.filter(({ startUnixNano }) => {
      const started = unixMs(startUnixNano);
      return started >= query.sinceUnixMs && started < until;
    });
    const spans = selectSpans(within.flatMap(spansOf), query);
    const limit = query.traceLimit ?? Number.POSITIVE_INFINITY;
    const traces = [...new Set(spans.map((span) => span.traceId))];
    if (traces.length <= limit) return { spans, truncated: false };
    const newest = new Set(traces.slice(-limit));
    return { spans: spans.filter((span) => newest.has(span.traceId)), truncated: true };
  }
}

/** Records of a call or tool hold their spans; a call that still runs, or crashed, has none. */
function spansOf(indexed: IndexedRecord): SourceSpan[] {
  const record = readRecordAt(indexed.series, indexed.place);
  if (record?.type !== 'callEnd' && record?.type !== 'tool') return [];
  const [process] = indexed.series.processes(indexed.place.file);
  const resource = process ? resourceOf(process) : newAttributes();
  return record.spans.flatMap((span) => otlpSpan(span, resource, INSTRUMENTATION_SCOPE) ?? []);
}

function resourceOf(process: ProcessInfo): Record<string, SpanAttribute> {
  const resource = newAttributes();
  Object.assign(resource, process.resource);
  resource['service.name'] = process.serviceName;
  resource['process.pid'] = process.pid;
  resource['host.name'] = process.host;
  return resource;
}
