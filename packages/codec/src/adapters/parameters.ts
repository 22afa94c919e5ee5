/**
 * Request parameters under one set of names: `temperature`, `top_p`, `top_k`, `max_tokens`, `frequency_penalty`,
 * `presence_penalty`, `stop_sequences` (a list), `seed`, `n`, `encoding_formats` (a list), `output_type`
 * are those of `gen_ai.request.*` and `gen_ai.output.type`; all others keep the provider's name.
 */
import type { Json, JsonObject } from '@orangebox/schema';
import { isObject, setMember } from './json.ts';

const RENAMED: { [name: string]: string } = {
  max_completion_tokens: 'max_tokens',
  max_output_tokens: 'max_tokens',
  max_tokens_to_sample: 'max_tokens',
  maxTokens: 'max_tokens',
  maxOutputTokens: 'max_tokens',
  max_new_tokens: 'max_tokens',
  num_predict: 'max_tokens',
  maxTokenCount: 'max_tokens',
  topP: 'top_p',
  p: 'top_p',
  topK: 'top_k',
  k: 'top_k',
  stop: 'stop_sequences',
  stopSequences: 'stop_sequences',
  frequencyPenalty: 'frequency_penalty',
  presencePenalty: 'presence_penalty',
  random_seed: 'seed',
  candidateCount: 'n',
  num_generations: 'n',
  encoding_format: 'encoding_formats',
  embedding_types: 'encoding_formats',
};
const LISTS = new Set(['stop_sequences', 'encoding_formats']);

/** The parameters among the members of a request body; `apart` names those that are shown elsewhere. */
export function readParameters(
  body: JsonObject | undefined,
  apart: ReadonlySet<string>,
  outputType?: string,
): JsonObject {
  const out: JsonObject = {};
  if (body) addParameters(out, body, apart);
  const type = outputType ?? outputTypeOf(body);
  if (type !== undefined) out['output_type'] = type;
  return out;
}

/** Adds the members of one object (`generationConfig`, `inferenceConfig`, `options`) to parameters. */
export function addParameters(out: JsonObject, source: JsonObject, apart?: ReadonlySet<string>): void {
  for (const key of Object.keys(source)) {
    if (apart?.has(key)) continue;
    const value = source[key];
    if (value === null || value === undefined) continue;
    const name = Object.hasOwn(RENAMED, key) ? (RENAMED[key] as string) : key;
    setMember(out, name, LISTS.has(name) && !Array.isArray(value) ? [value as Json] : (value as Json));
  }
}

function outputTypeOf(body: JsonObject | undefined): string | undefined {
  const format = body?.['response_format'] ?? (isObject(body?.['text']) ? body['text']['format'] : undefined);
  if (!isObject(format)) return undefined;
  const type = format['type'];
  if (type === 'json_schema' || type === 'json_object') return 'json';
  return type === 'text' ? 'text' : undefined;
}
