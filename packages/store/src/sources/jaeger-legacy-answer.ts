/** Spans from Jaeger's own JSON (`/api/traces`), as its user interface reads it. */
import {
  arrayOf,
  field,
  type ForeignObject,
  isObject,
  newAttributes,
  numberOf,
  objectOf,
  textOf,
} from './foreign-json.ts';
import { spanIdOf, traceIdOf } from './span-ids.ts';
import type { SourceSpan, SpanAttribute } from './trace-source.ts';

/** Tags that Jaeger makes of fields that OTLP spans have. */
const DERIVED_TAGS = [
  'span.kind',
  'otel.scope.name',
  'otel.scope.version',
  'otel.library.name',
  'otel.library.version',
  'otel.status_code',
  'otel.status_description',
];

/** Attributes that are lists; Jaeger keeps lists as JSON text, and other texts are left alone. */
const LISTS: ReadonlySet<string> = new Set([
  'gen_ai.response.finish_reasons',
  'gen_ai.request.stop_sequences',
  'gen_ai.request.encoding_formats',
]);

/** The spans of the traces in `data`. What is no span (no valid ids) is passed over. */
export function spansOfJaegerTraces(data: unknown): SourceSpan[] {
  const spans: SourceSpan[] = [];
  for (const item of arrayOf(data)) {
    const trace = objectOf(item);
    const resources = resourcesOf(field(trace, 'processes'));
    for (const span of arrayOf(field(trace, 'spans'))) {
      const parsed = jaegerSpan(objectOf(span), resources);
      if (parsed) spans.push(parsed);
    }
  }
  return spans;
}

function resourcesOf(processes: unknown): Map<string, Record<string, SpanAttribute>> {
  const found = new Map<string, Record<string, SpanAttribute>>();
  for (const [id, value] of Object.entries(objectOf(processes))) found.set(id, resourceOf(value));
  return found;
}

function resourceOf(value: unknown): Record<string, SpanAttribute> {
  const process = objectOf(value);
  const resource = tagsOf(field(process, 'tags'));
  const serviceName = textOf(field(process, 'serviceName'));
  if (serviceName !== undefined) resource['service.name'] = serviceName;
  return resource;
}

function jaegerSpan(
  span: ForeignObject,
  resources: ReadonlyMap<string, Record<string, SpanAttribute>>,
): SourceSpan | undefined {
  const traceId = traceIdOf(field(span, 'traceID'));
  const spanId = spanIdOf(field(span, 'spanID'));
  if (traceId === undefined || spanId === undefined) return undefined;
  const attributes = tagsOf(field(span, 'tags'));
  const status = statusOf(attributes);
  const statusMessage = textOf(attributes['otel.status_description']);
  const scope = textOf(attributes['otel.scope.name']) ?? textOf(attributes['otel.library.name']);
  const kind = kindOf(attributes['span.kind']);
  // Jaeger adds `error` to a span whose status says so; one that the program set beside another status stays.
  if (status === 'error' && attributes['error'] === true) delete attributes['error'];
  for (const name of DERIVED_TAGS) delete attributes[name];
  const parentSpanId = parentOf(span, traceId);
  const startUs = microseconds(field(span, 'startTime'));
  // A process inlined in the span is the form of Jaeger's storage; the API names it by id.
  const inlined = field(span, 'process');
  return {
    traceId,
    spanId,
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    name: textOf(field(span, 'operationName')) ?? '',
    ...(kind === undefined ? {} : { kind }),
    ...(scope === undefined ? {} : { scope }),
    startUnixNano: String(startUs * 1000n),
    endUnixNano: String((startUs + microseconds(field(span, 'duration'))) * 1000n),
    status,
    ...(statusMessage === undefined ? {} : { statusMessage }),
    attributes,
    resource: isObject(inlined) ? resourceOf(inlined) : (resources.get(String(field(span, 'processID'))) ?? {}),
    events: arrayOf(field(span, 'logs')).map((log) => {
      const fields = tagsOf(field(objectOf(log), 'fields'));
      const name = textOf(fields['event']) ?? '';
      delete fields['event'];
      return { name, attributes: fields };
    }),
  };
}

function parentOf(span: ForeignObject, traceId: string): string | undefined {
  for (const item of arrayOf(field(span, 'references'))) {
    const reference = objectOf(item);
    if (field(reference, 'refType') !== 'CHILD_OF') continue;
    if (traceIdOf(field(reference, 'traceID')) === traceId) return spanIdOf(field(reference, 'spanID'));
  }
  return spanIdOf(field(span, 'parentSpanID'));
}

function tagsOf(list: unknown): Record<string, SpanAttribute> {
  const to = newAttributes();
  for (const item of arrayOf(list)) {
    const tag = objectOf(item);
    const key = textOf(field(tag, 'key'));
    const value = key === undefined ? undefined : tagValue(key, field(tag, 'type'), field(tag, 'value'));
    if (key !== undefined && value !== undefined) to[key] = value;
  }
  return to;
}

function tagValue(key: string, type: unknown, value: unknown): SpanAttribute | undefined {
  if (type === 'int64' || type === 'float64') return numberOf(value) ?? textOf(value);
  if (type === 'bool' && typeof value === 'string') return value === 'true';
  if (typeof value === 'string') return LISTS.has(key) ? listOf(value) : value;
  return typeof value === 'boolean' || typeof value === 'number' ? value : undefined;
}

function listOf(text: string): SpanAttribute {
  try {
    const list: unknown = JSON.parse(text);
    if (Array.isArray(list) && list.every((item) => typeof item === 'string')) return list;
  } catch {
    // Then it is a text.
  }
  return text;
}

function kindOf(value: SpanAttribute | undefined): SourceSpan['kind'] {
  return value === 'internal' ||
    value === 'server' ||
    value === 'client' ||
    value === 'producer' ||
    value === 'consumer'
    ? value
    : undefined;
}

function statusOf(attributes: Readonly<Record<string, SpanAttribute>>): SourceSpan['status'] {
  const code = attributes['otel.status_code'];
  if (code === 'ERROR') return 'error';
  if (code === 'OK') return 'ok';
  return attributes['error'] === true || attributes['error'] === 'true' ? 'error' : 'unset';
}

function microseconds(value: unknown): bigint {
  return typeof value === 'number' && value > 0 && value < Number.MAX_SAFE_INTEGER ? BigInt(Math.trunc(value)) : 0n;
}
