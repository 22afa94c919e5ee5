/** Recognises the span that another instrumentation has already opened for the very call that we record. */
import { GEN_AI, HTTP_ATTR, INSTRUMENTATION_SCOPE } from '@orangebox/schema';
import type { OtelContext } from '../wire-events.ts';
import { API_SPAN_KIND, SPAN_KEY } from './api-shapes.ts';

/** Operations that are one request to a model; agents, tools and workflows are not. */
const CALL_OPERATIONS: ReadonlySet<string> = new Set(['chat', 'text_completion', 'embeddings', 'generate_content']);

/** Members that spans of the SDK (1.x and 2.x) have beside the API's. */
export interface SdkSpan {
  attributes?: Record<string, unknown>;
  kind?: number;
  ended?: boolean;
  instrumentationScope?: { name?: string };
  instrumentationLibrary?: { name?: string };
  parentSpanContext?: { spanId?: string };
  parentSpanId?: string;
}

/** Whether the active span describes an LLM call by gen_ai attributes and was not made by us. */
export function isForeignCallSpan(context: OtelContext | undefined): boolean {
  const span = activeSdkSpan(context);
  return span !== undefined && span.ended !== true && describesCall(span);
}

/** Whether a span describes an LLM call and was not made by us. */
export function describesCall(span: SdkSpan): boolean {
  const { attributes } = span;
  if (typeof attributes !== 'object' || attributes === null) return false;
  if ((span.instrumentationScope ?? span.instrumentationLibrary)?.name === INSTRUMENTATION_SCOPE) return false;
  const operation = attributes[GEN_AI.operationName];
  if (typeof operation === 'string') return CALL_OPERATIONS.has(operation);
  // Older conventions and the AI SDK name no operation; only their span of the single request has the model.
  const provider = attributes[GEN_AI.providerName] ?? attributes[GEN_AI.system];
  return typeof provider === 'string' && typeof attributes[GEN_AI.requestModel] === 'string';
}

/**
 * The parent's id where the active span is that of an HTTP client instrumentation: it stands between the request and
 * whoever opened a span for the call.
 */
export function parentOfHttpSpan(context: OtelContext | undefined): string | undefined {
  const span = activeSdkSpan(context);
  if (!span || span.kind !== API_SPAN_KIND.client || span.ended === true) return undefined;
  const { attributes } = span;
  const method = attributes?.[HTTP_ATTR.requestMethod] ?? attributes?.['http.method'];
  return typeof method === 'string' ? (span.parentSpanContext?.spanId ?? span.parentSpanId) : undefined;
}

function activeSdkSpan(context: OtelContext | undefined): SdkSpan | undefined {
  const span = context?.getValue(SPAN_KEY);
  return typeof span === 'object' && span !== null ? span : undefined;
}
