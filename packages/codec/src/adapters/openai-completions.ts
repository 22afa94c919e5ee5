/** Adapter of the older OpenAI text completions. */
import type { Json, JsonObject, Message, ResponseView } from '@orangebox/schema';
import type { Described } from './described.ts';
import type { AdapterInput } from './input.ts';
import {
  arrayOf,
  assignMembers,
  filledOf,
  isObject,
  objectsOf,
  parseJson,
  stringOf,
  textOrJson,
  unknownMembers,
} from './json.ts';
import { emptyResponse, errorOf, summariseChoices } from './message.ts';
import { openAiCall } from './openai-call.ts';
import { chatUsage, textError } from './openai-chat.ts';

const APART = new Set(['model', 'prompt', 'suffix', 'stream']);
const RESPONSE_KNOWN = new Set(['id', 'object', 'created', 'model', 'choices', 'usage', 'system_fingerprint', 'error']);

/** Views of a text completions exchange. */
export function describeCompletions(input: AdapterInput): Described {
  return {
    call: openAiCall(input, { api: 'openai.completions', operation: 'text_completion', apart: APART }),
    request: { messages: prompts(input.request) },
    response: completionsResponse(input),
  };
}

function prompts(body: JsonObject | undefined): Message[] {
  const prompt = body?.['prompt'];
  if (prompt === undefined || prompt === null) return [];
  const list = Array.isArray(prompt) && typeof prompt[0] !== 'number' ? prompt : [prompt];
  const messages: Message[] = list.map((entry) => ({ role: 'user', text: textOrJson(entry) }));
  const suffix = stringOf(body?.['suffix']);
  if (suffix !== undefined) messages.push({ role: 'user', text: suffix, raw: { suffix } });
  return messages;
}

function completionsResponse(input: AdapterInput): ResponseView {
  const view = emptyResponse();
  if (!input.exchange.response) return view;
  const json = input.isSse ? assemble(view, input) : input.responseJson;
  if (json !== undefined) view.final = json;
  if (isObject(json)) fill(view, json);
  if ((input.status ?? 0) >= 400) {
    const error = errorOf(json) ?? textError(input.responseText);
    if (error) view.error = error;
  }
  summariseChoices(view);
  return view;
}

function fill(view: ResponseView, json: JsonObject): void {
  const id = filledOf(json['id']);
  const model = filledOf(json['model']);
  const fingerprint = filledOf(json['system_fingerprint']);
  if (id !== undefined) view.id = id;
  if (model !== undefined) view.model = model;
  if (fingerprint !== undefined) view.systemFingerprint = fingerprint;
  const usage = chatUsage(json['usage']);
  if (usage) view.usage = usage;
  view.choices = objectsOf(json['choices']).map((choice, at) => {
    const finishReason = filledOf(choice['finish_reason']);
    return {
      index: typeof choice['index'] === 'number' ? choice['index'] : at,
      ...(finishReason === undefined ? {} : { finishReason }),
      message: { role: 'assistant', text: textOrJson(choice['text']) },
    };
  });
  const unknown = unknownMembers(json, RESPONSE_KNOWN);
  if (unknown) view.unknown = unknown;
  if (isObject(json['error'])) {
    const error = errorOf(json);
    if (error) view.error = error;
  }
}

/** The SDK has no accumulator for this API: texts are joined by index, lists of log probabilities too, the rest is last. */
function assemble(view: ResponseView, input: AdapterInput): JsonObject | undefined {
  let out: JsonObject | undefined;
  const choices = new Map<number, JsonObject>();
  for (const event of input.events) {
    if (event.data.startsWith('[DONE]')) break;
    const chunk = parseJson(event.data);
    if (!isObject(chunk)) continue;
    if (isObject(chunk['error'])) {
      const error = errorOf(chunk);
      if (error) view.error = error;
      break;
    }
    out ??= {};
    for (const key of Object.keys(chunk)) {
      const value = chunk[key];
      if (key === 'choices' || (value === null && out[key] !== undefined)) continue;
      assignMembers(out, { [key]: value as Json });
    }
    for (const choice of objectsOf(chunk['choices'])) addChoice(choices, choice);
  }
  if (out) out['choices'] = [...choices.values()];
  return out;
}

function addChoice(choices: Map<number, JsonObject>, piece: JsonObject): void {
  const index = typeof piece['index'] === 'number' ? piece['index'] : 0;
  const known = choices.get(index);
  if (!known) {
    choices.set(index, { ...piece });
    return;
  }
  const text = textOrJson(known['text']) + textOrJson(piece['text']);
  const logprobs = joinLogprobs(known['logprobs'], piece['logprobs']);
  for (const key of Object.keys(piece)) {
    const value = piece[key];
    if (value !== null) assignMembers(known, { [key]: value as Json });
  }
  known['text'] = text;
  if (logprobs !== undefined) known['logprobs'] = logprobs;
}

function joinLogprobs(known: Json | undefined, more: Json | undefined): Json | undefined {
  if (!isObject(known)) return isObject(more) ? { ...more } : known;
  if (!isObject(more)) return known;
  const joined: JsonObject = { ...known };
  for (const key of Object.keys(more)) {
    const value = more[key] as Json;
    joined[key] = Array.isArray(value) ? [...arrayOf(joined[key]), ...value] : value;
  }
  return joined;
}
