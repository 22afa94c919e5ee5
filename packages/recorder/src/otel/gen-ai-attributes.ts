/** The gen_ai attributes of a call, from the adapter's view of it. */
import { type CallView, GEN_AI, type Json, type JsonObject } from '@orangebox/schema';
import type { AttributeValue, SpanAttributes } from '../spans.ts';
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
  // Plain assignments: this runs for every call, and spreading a dozen conditional objects costs ten times as much.
  const to: SpanAttributes = {};
  put(to, GEN_AI.responseId, response.id);
  if (options.nested) return to;
  to[GEN_AI.operationName] = call.operation;
  to[GEN_AI.providerName] = call.provider;
  if (options.names === 'compatible') to[GEN_AI.system] = call.provider;
  putRequest(to, call);
  put(to, GEN_AI.responseModel, response.model);
  put(to, GEN_AI.embeddingsDimensionCount, response.embeddings?.dimensions);
  if (response.finishReasons.length > 0) to[GEN_AI.responseFinishReasons] = [...response.finishReasons];
  const { usage } = response;
  if (usage === undefined) return to;
  put(to, GEN_AI.usageInputTokens, usage.inputTokens);
  put(to, GEN_AI.usageOutputTokens, usage.outputTokens);
  put(to, GEN_AI.usageCacheReadInputTokens, usage.cacheReadInputTokens);
  put(to, GEN_AI.usageCacheCreationInputTokens, usage.cacheCreationInputTokens);
  put(to, GEN_AI.usageReasoningOutputTokens, usage.reasoningTokens);
  return to;
}

function putRequest(to: SpanAttributes, call: CallView): void {
  const p = call.parameters;
  const choices = number(p['n']);
  put(to, GEN_AI.requestModel, call.requestModel);
  put(to, GEN_AI.requestMaxTokens, number(p['max_completion_tokens'] ?? p['max_output_tokens'] ?? p['max_tokens']));
  put(to, GEN_AI.requestTemperature, number(p['temperature']));
  put(to, GEN_AI.requestTopP, number(p['top_p']));
  put(to, GEN_AI.requestFrequencyPenalty, number(p['frequency_penalty']));
  put(to, GEN_AI.requestPresencePenalty, number(p['presence_penalty']));
  put(to, GEN_AI.requestSeed, number(p['seed']));
  // The conventions want it only where it is not one.
  if (choices !== 1) put(to, GEN_AI.requestChoiceCount, choices);
  put(to, GEN_AI.embeddingsDimensionCount, number(p['dimensions']));
  put(to, GEN_AI.outputType, outputType(p));
  if (call.stream) to[GEN_AI.requestStream] = true;
  put(to, GEN_AI.requestStopSequences, strings(p['stop']));
  put(to, GEN_AI.requestEncodingFormats, strings(p['encoding_format']));
}

function put(to: SpanAttributes, name: string, value: AttributeValue | undefined): void {
  if (value !== undefined) to[name] = value;
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
