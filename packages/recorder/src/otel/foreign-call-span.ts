/** Recognises the span that another instrumentation has already opened for the very call that we record. */
import { GEN_AI, INSTRUMENTATION_SCOPE } from '@orangebox/schema';
import type { OtelContext } from '../wire-events.ts';
import { SPAN_KEY } from './api-shapes.ts';

/** Operations that are one request to a model; agents, tools and workflows are not. */
const CALL_OPERATIONS: ReadonlySet<string> = new Set(['chat', 'text_completion', 'embeddings', 'generate_content']);

/** Members that spans of the SDK (1.x and 2.x) have beside the API's. */
interface SdkSpan {
  attributes?: Record<string, unknown>;
  ended?: boolean;
  instrumentationScope?: { name?: string };
  instrumentationLibrary?: { name?: string };
}

/** Whether the active span describes an LLM call by gen_ai attributes and was not made by us. */
export function isForeignCallSpan(context: OtelContext | undefined): boolean {
  const span = context?.getValue(SPAN_KEY) as SdkSpan | undefined;
  const attributes = span?.attributes;
  if (!span || typeof attributes !== 'object' || attributes === null || span.ended === true) return false;
  if ((span.instrumentationScope ?? span.instrumentationLibrary)?.name === INSTRUMENTATION_SCOPE) return false;
  const operation = attributes[GEN_AI.operationName];
  if (typeof operation === 'string') return CALL_OPERATIONS.has(operation);
  // Older conventions and the AI SDK name no operation; only their span of the single request has the model.
  const provider = attributes[GEN_AI.providerName] ?? attributes[GEN_AI.system];
  return typeof provider === 'string' && typeof attributes[GEN_AI.requestModel] === 'string';
}
