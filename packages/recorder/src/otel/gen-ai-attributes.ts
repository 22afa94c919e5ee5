/** The gen_ai attributes of a call, from the adapter's view of it. */
import { GEN_AI, type Json, type JsonObject } from '@orangebox/schema';
import type { SpanAttributes } from '../spans.ts';
import type { CallViews } from './span-content.ts';

/**
 * Which names are written. `latest`: those of the conventions' version in `schema`. `compatible` (without
 * `OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental`): the same, and `gen_ai.system` for tools that know only that.
 */
export type SemconvNames = 'latest' | 'compatible';

/** `OTEL_SEMCONV_STABILITY_OPT_IN` as names to write. */
export function semconvNames(optIn: readonly string[]): SemconvNames {
  return optIn.includes('gen_ai_latest_experimental') ? 'latest' : 'compatible';
}

/**
 * Request and response attributes. A nested span gets only what identifies the answer: another instrumentation's span
 * around it says the rest, and whatever counts calls or tokens must find one.
 */
export function genAiAttributes(views: CallViews, options: { names: SemconvNames; nested: boolean }): SpanAttributes {
  const { call, response } = views;
  const id = defined({ [GEN_AI.responseId]: response.id });
  if (options.nested) return id;
  return {
    [GEN_AI.operationName]: call.operation,
    [GEN_AI.providerName]: call.provider,
    ...(options.names === 'compatible' ? { [GEN_AI.system]: call.provider } : {}),
    ...requestAttributes(views),
    ...id,
    ...defined({
      [GEN_AI.responseModel]: response.model,
      [GEN_AI.usageInputTokens]: response.usage?.inputTokens,
      [GEN_AI.usageOutputTokens]: response.usage?.outputTokens,
      [GEN_AI.usageCacheReadInputTokens]: response.usage?.cacheReadInputTokens,
      [GEN_AI.usageCacheCreationInputTokens]: response.usage?.cacheCreationInputTokens,
      [GEN_AI.usageReasoningOutputTokens]: response.usage?.reasoningTokens,
      [GEN_AI.embeddingsDimensionCount]: response.embeddings?.dimensions,
    }),
    ...(response.finishReasons.length > 0 ? { [GEN_AI.responseFinishReasons]: [...response.finishReasons] } : {}),
  };
}

function requestAttributes({ call }: CallViews): SpanAttributes {
  const p = call.parameters;
  const stop = strings(p['stop']);
  const formats = strings(p['encoding_format']);
  const choices = number(p['n']);
  return {
    ...defined({
      [GEN_AI.requestModel]: call.requestModel,
      [GEN_AI.requestMaxTokens]: number(p['max_completion_tokens'] ?? p['max_output_tokens'] ?? p['max_tokens']),
      [GEN_AI.requestTemperature]: number(p['temperature']),
      [GEN_AI.requestTopP]: number(p['top_p']),
      [GEN_AI.requestFrequencyPenalty]: number(p['frequency_penalty']),
      [GEN_AI.requestPresencePenalty]: number(p['presence_penalty']),
      [GEN_AI.requestSeed]: number(p['seed']),
      // The conventions want it only where it is not one.
      [GEN_AI.requestChoiceCount]: choices === 1 ? undefined : choices,
      [GEN_AI.embeddingsDimensionCount]: number(p['dimensions']),
      [GEN_AI.outputType]: outputType(p),
    }),
    ...(call.stream ? { [GEN_AI.requestStream]: true } : {}),
    ...(stop ? { [GEN_AI.requestStopSequences]: stop } : {}),
    ...(formats ? { [GEN_AI.requestEncodingFormats]: formats } : {}),
  };
}

/** `response_format` of chat, `text.format` of responses. */
function outputType(parameters: JsonObject): string | undefined {
  const text = parameters['text'];
  const format = parameters['response_format'] ?? (isObject(text) ? text['format'] : undefined);
  const type = isObject(format) ? format['type'] : undefined;
  if (type === 'json_object' || type === 'json_schema') return 'json';
  return type === 'text' ? 'text' : undefined;
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function number(value: Json | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function strings(value: Json | undefined): string[] | undefined {
  if (typeof value === 'string') return [value];
  if (!Array.isArray(value)) return undefined;
  const found = value.filter((v) => typeof v === 'string');
  return found.length > 0 ? found : undefined;
}

function defined(values: Record<string, string | number | undefined>): SpanAttributes {
  const attributes: SpanAttributes = {};
  for (const [name, value] of Object.entries(values)) if (value !== undefined) attributes[name] = value;
  return attributes;
}
