/** Adapter of the OpenAI embeddings API and of compatible servers. */
import type { Json, JsonObject, Message, ResponseView } from '@orangebox/schema';
import type { Described } from './described.ts';
import type { AdapterInput } from './input.ts';
import { arrayOf, filledOf, isObject, objectsOf, textOrJson, unknownMembers } from './json.ts';
import { dataSize, emptyResponse, errorOf } from './message.ts';
import { openAiCall } from './openai-call.ts';
import { chatUsage, textError } from './openai-chat.ts';

const APART = new Set(['model', 'input', 'stream']);
const RESPONSE_KNOWN = new Set(['object', 'data', 'model', 'usage', 'id', 'created', 'error']);
const FLOAT_BYTES = 4;

/** Role of what is no turn of a conversation: texts to embed, to rank, to judge, to draw. */
export const INPUT_ROLE = 'input';

/** Views of an embeddings exchange. */
export function describeEmbeddings(input: AdapterInput): Described {
  return {
    // No answer with vectors streams, whatever the request says.
    call: { ...openAiCall(input, { api: 'openai.embeddings', operation: 'embeddings', apart: APART }), stream: false },
    request: { messages: embeddingInputs(input.request?.['input']) },
    response: embeddingsResponse(input),
  };
}

/** The texts to embed, one message each; a list of token numbers is one text. */
export function embeddingInputs(input: Json | undefined): Message[] {
  if (input === undefined || input === null) return [];
  if (!Array.isArray(input)) return [{ role: INPUT_ROLE, text: textOrJson(input) }];
  if (typeof input[0] === 'number') return [{ role: INPUT_ROLE, text: JSON.stringify(input) }];
  return input.map((entry) => ({ role: INPUT_ROLE, text: textOrJson(entry) }));
}

function embeddingsResponse(input: AdapterInput): ResponseView {
  const view = emptyResponse();
  if (!input.exchange.response) return view;
  const json = input.responseJson;
  if (json !== undefined) view.final = json;
  if (isObject(json)) fill(view, json);
  if ((input.status ?? 0) >= 400) {
    const error = errorOf(json) ?? textError(input.responseText);
    if (error) view.error = error;
  }
  return view;
}

function fill(view: ResponseView, json: JsonObject): void {
  const id = filledOf(json['id']);
  const model = filledOf(json['model']);
  if (id !== undefined) view.id = id;
  if (model !== undefined) view.model = model;
  const usage = chatUsage(json['usage']);
  if (usage) view.usage = usage;
  const data = objectsOf(json['data']);
  if (data.length > 0) view.embeddings = countEmbeddings(data.map((entry) => entry['embedding'] ?? null));
  const unknown = unknownMembers(json, RESPONSE_KNOWN);
  if (unknown) view.unknown = unknown;
}

/** Number and dimensions of vectors: lists of numbers, or base64 of 32-bit floats. */
export function countEmbeddings(vectors: Json[]): { count: number; dimensions?: number } {
  const first = vectors[0];
  const bytes = typeof first === 'string' ? dataSize(first) : undefined;
  const dimensions = Array.isArray(first)
    ? first.length
    : bytes === undefined
      ? undefined
      : Math.floor(bytes / FLOAT_BYTES);
  return { count: vectors.length, ...(dimensions === undefined ? {} : { dimensions }) };
}

/** A vector as numbers, from a list or from base64 of little-endian 32-bit floats. */
export function embeddingVector(value: Json | undefined): number[] {
  if (typeof value !== 'string') return arrayOf(value).filter((entry) => typeof entry === 'number');
  const binary = safeAtob(value);
  const bytes = Uint8Array.from(binary, (char) => char.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const out: number[] = [];
  for (let at = 0; at + FLOAT_BYTES <= bytes.length; at += FLOAT_BYTES) out.push(view.getFloat32(at, true));
  return out;
}

function safeAtob(text: string): string {
  try {
    return atob(text);
  } catch {
    return '';
  }
}
