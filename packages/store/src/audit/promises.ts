/** The keys that a trace backend's spans promise. */
import { ATTR } from '@orangebox/schema';
import { isCanary } from '../canary.ts';
import { normalKey } from '../safe-fs.ts';
import { ownKeyOf } from '../sources/entry-of-span.ts';
import type { SourceSpan, TraceSource } from '../sources/trace-source.ts';

/** A key on a span. */
export interface Promised {
  key: string;
  traceId: string;
  spanId: string;
  startUnixNano: string;
  endUnixNano: string;
  serviceName?: string;
}

/** What a search for promises found. */
export interface Promises {
  byKey: Map<string, Promised>;
  /** Spans whose key is none, or that of another call. */
  invalid: Promised[];
  /** Keys of test calls. */
  canaries: Set<string>;
  truncated: boolean;
}

/** A search that was cut is repeated in halves down to this length. */
const SHORTEST_WINDOW_MS = 1000;

/** Most searches: each of them may be hundreds of requests. */
const SEARCHES_MAX = 256;

/**
 * All promises of spans in a time range. A backend that cuts its answers is asked again in shorter pieces of it, where that
 * can help.
 *
 * @throws OrangeboxError `OBX_SOURCE_*`.
 */
export async function collectPromises(
  source: TraceSource,
  range: { sinceUnixMs: number; untilUnixMs: number },
): Promise<Promises> {
  const found: Promises = { byKey: new Map(), invalid: [], canaries: new Set(), truncated: false };
  const seenInvalid = new Set<string>();
  const windows = [range];
  let left = SEARCHES_MAX;
  for (let window = windows.pop(); window !== undefined; window = windows.pop()) {
    left -= 1;
    const { spans, truncated, isFinal } = await source.search(window);
    for (const span of spans) addSpan(found, seenInvalid, span);
    if (!truncated) continue;
    const lengthMs = window.untilUnixMs - window.sinceUnixMs;
    if (isFinal === true || lengthMs <= SHORTEST_WINDOW_MS || windows.length + 2 > left) {
      found.truncated = true;
      continue;
    }
    const middle = window.sinceUnixMs + Math.floor(lengthMs / 2);
    windows.push(
      { sinceUnixMs: middle, untilUnixMs: window.untilUnixMs },
      { sinceUnixMs: window.sinceUnixMs, untilUnixMs: middle },
    );
  }
  return found;
}

function addSpan(found: Promises, seenInvalid: Set<string>, span: SourceSpan): void {
  const promised = promiseOf(span);
  if (promised === undefined) return;
  // A key of another call's would count that one as promised, or keep its loss from being seen.
  const isKey = ownKeyOf(span) !== undefined;
  if (isKey && isCanary(span.attributes[ATTR.sessionId])) found.canaries.add(promised.key);
  else if (isKey) found.byKey.set(promised.key, promised);
  else {
    const id = `${span.traceId}/${span.spanId}`;
    if (!seenInvalid.has(id)) found.invalid.push(promised);
    seenInvalid.add(id);
  }
}

/** What a span promises; undefined where its key is absent or still the placeholder of a running call. */
export function promiseOf(span: SourceSpan): Promised | undefined {
  const text = span.attributes[ATTR.snapshotKey];
  if (typeof text !== 'string' || text === '') return undefined;
  const service = span.resource['service.name'];
  return {
    key: normalKey(text) ?? text,
    traceId: span.traceId,
    spanId: span.spanId,
    startUnixNano: span.startUnixNano,
    endUnixNano: span.endUnixNano,
    ...(typeof service === 'string' ? { serviceName: service } : {}),
  };
}
