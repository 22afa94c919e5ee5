/** Reads the answers of protocols without an adapter, by the shape of their bodies. */
import { appendAll } from '../append-all.ts';
import type { Json, JsonObject, ResponseView } from '@orangebox/schema';
import { assembleAnthropic, fillAnthropic, isAnthropicEvent } from './anthropic.ts';
import { assembleConverse, fillConverse } from './converse.ts';
import { type EventFrame, parseEventStream } from './event-stream.ts';
import { assembleGemini, fillGemini } from './gemini.ts';
import type { AdapterInput } from './input.ts';
import { arrayOf, filledOf, isObject, objectOf, objectsOf, parseJson, stringOf, textOrJson } from './json.ts';
import { errorOf, usageOf } from './message.ts';
import { chatMessage, chatUsage, textError } from './openai-chat.ts';
import { countEmbeddings } from './openai-embeddings.ts';

/** Fills a view from whatever came back. */
export function fillGenericResponse(view: ResponseView, input: AdapterInput): void {
  const type = input.responseHeader('content-type') ?? '';
  if (/eventstream/i.test(type)) fillFrames(view, parseEventStream(input.responseBytes));
  else if (/^(?:audio|image|video)\/|octet-stream/i.test(type)) return;
  else if (input.isSse) {
    fillEvents(view, objectsOf(input.events.map((event) => parseJson(event.data) ?? null)));
  } else fillText(view, input);
  if ((input.status ?? 0) >= 400 && !view.error) {
    const error = errorOf(input.responseJson) ?? textError(input.responseText);
    if (error) view.error = error;
  }
}

function fillText(view: ResponseView, input: AdapterInput): void {
  const json = input.responseJson;
  if (Array.isArray(json) && isObject(json[0]) && json[0]['candidates'] !== undefined) {
    fillEvents(view, objectsOf(json));
  } else if (json !== undefined) {
    view.final = json;
    fillWhole(view, isObject(json) ? json : objectOf(arrayOf(json)[0]));
  } else {
    const lines = objectsOf(
      input.responseText.split('\n').map((line) => (line.startsWith('{') ? (parseJson(line) ?? null) : null)),
    );
    if (lines.length > 0) fillEvents(view, lines);
  }
}

function fillFrames(view: ResponseView, frames: EventFrame[]): void {
  const error = frames.find((frame) => frame.exception);
  if (frames.some((frame) => isAnthropicEvent(frame.payload))) {
    fillEvents(
      view,
      frames.map((frame) => frame.payload),
    );
  } else if (
    frames.some((frame) => /^(?:message|content|metadata)/.test(frame.type) || 'messageStart' in frame.payload)
  ) {
    const answer = assembleConverse(frames, view);
    view.final = answer;
    fillConverse(view, answer);
  } else
    fillEvents(
      view,
      frames.filter((frame) => !frame.exception).map((frame) => frame.payload),
    );
  if (error) view.error = { type: error.type, message: stringOf(error.payload['message']) ?? error.type };
}

/** A stream as the objects it was made of. */
function fillEvents(view: ResponseView, events: JsonObject[]): void {
  if (events.length === 0) return;
  const failed = events.find((event) => isObject(event['error']) || event['type'] === 'error');
  if (events.some(isAnthropicEvent)) {
    const message = assembleAnthropic(events, view);
    view.final = message;
    fillAnthropic(view, message);
  } else if (events.some((event) => Array.isArray(event['candidates']))) {
    const answer = assembleGemini(events);
    view.final = answer;
    fillGemini(view, answer);
  } else fillPieces(view, events);
  if (failed && !view.error) {
    const error = errorOf(failed);
    if (error) view.error = error;
  }
}

/** Streams of text pieces (Ollama, Cohere, completions of all kinds): texts are joined, the last object has the rest. */
function fillPieces(view: ResponseView, events: JsonObject[]): void {
  let text = '';
  let reasoning = '';
  const calls: JsonObject[] = [];
  let rest: JsonObject = {};
  for (const event of events) {
    const message = objectOf(event['message'] ?? objectOf(event['delta'])['message']);
    text += pieceOf(event, message);
    reasoning += textOrJson(message['thinking']);
    appendAll(calls, callPieces(message['tool_calls']));
    // Cohere v1 ends with the whole response inside its last event.
    rest = isObject(event['response']) ? { ...rest, ...event['response'] } : { ...rest, ...event };
    Object.assign(rest, objectOf(event['delta']));
  }
  const whole = filledOf(rest['text']) !== undefined && text === '' ? rest : { ...rest, text };
  const message: JsonObject = { role: 'assistant', content: textOrJson(whole['text']), tool_calls: joinCalls(calls) };
  if (reasoning !== '') message['reasoning'] = reasoning;
  view.final = { ...rest, message };
  fillWhole(view, { ...rest, message, text: '' });
}

function pieceOf(event: JsonObject, message: JsonObject): string {
  const content = message['content'];
  if (typeof content === 'string') return content;
  if (isObject(content) && typeof content['text'] === 'string') return content['text'];
  const list = event['choices'] ?? event['outputs'] ?? event['generations'];
  const nested = objectOf(objectsOf(list)[0]);
  const found =
    event['response'] ??
    event['completion'] ??
    event['outputText'] ??
    event['generation'] ??
    objectOf(event['token'])['text'] ??
    nested['text'] ??
    objectOf(nested['delta'])['content'] ??
    event['text'];
  // Cohere v1 repeats the whole text in its last event.
  if (event['event_type'] !== undefined && event['event_type'] !== 'text-generation') return '';
  return typeof found === 'string' ? found : '';
}

function callPieces(value: Json | undefined): JsonObject[] {
  return isObject(value) ? [value] : objectsOf(value);
}

/** Cohere v2 names a call once and then sends pieces of its arguments. */
function joinCalls(pieces: JsonObject[]): JsonObject[] {
  const calls: JsonObject[] = [];
  for (const piece of pieces) {
    const fn = objectOf(piece['function']);
    const last = calls.at(-1);
    if (piece['id'] === undefined && fn['name'] === undefined && last) {
      const known = objectOf(last['function']);
      last['function'] = { ...known, arguments: textOrJson(known['arguments']) + textOrJson(fn['arguments']) };
    } else calls.push({ ...piece });
  }
  return calls;
}

/** A whole answer, by its shape. */
function fillWhole(view: ResponseView, json: JsonObject): void {
  const { output } = json;
  if (Array.isArray(json['candidates'])) fillGemini(view, json);
  else if (json['type'] === 'message' && Array.isArray(json['content'])) fillAnthropic(view, json);
  else if (isObject(output) && isObject(output['message'])) fillConverse(view, json);
  else fillOther(view, json);
}

function fillOther(view: ResponseView, json: JsonObject): void {
  const id = filledOf(json['id']) ?? filledOf(json['response_id']) ?? filledOf(json['generation_id']);
  const model = filledOf(json['model']) ?? filledOf(json['model_id']);
  if (id !== undefined) view.id = id;
  if (model !== undefined) view.model = model;
  const usage = otherUsage(json);
  if (usage) view.usage = usage;
  const vectors = vectorsOf(json);
  if (vectors) {
    view.embeddings = countEmbeddings(vectors);
    return;
  }
  for (const [index, found] of answersOf(json).entries()) {
    const finishReason = filledOf(found.finishReason);
    view.choices.push({
      index,
      ...(finishReason === undefined ? {} : { finishReason }),
      message: chatMessage(found.message),
    });
  }
}

interface Answer {
  message: JsonObject;
  finishReason: Json | undefined;
}

function answersOf(json: JsonObject): Answer[] {
  const finish = json['finish_reason'] ?? json['done_reason'] ?? json['stop_reason'] ?? json['completionReason'];
  const steps = objectsOf(json['steps'] ?? json['outputs']);
  if (steps.some((step) => step['type'] === 'model_output' || step['type'] === 'function_call')) {
    return [{ message: interactionMessage(steps), finishReason: json['status'] }];
  }
  if (isObject(json['message'])) {
    return [{ message: { role: 'assistant', ...cohereMessage(json['message']) }, finishReason: finish }];
  }
  const list = objectsOf(
    json['choices'] ?? json['results'] ?? json['generations'] ?? json['completions'] ?? json['outputs'],
  );
  const found = list.flatMap((entry) => {
    const inner = objectOf(entry['data']);
    if (isObject(entry['message'])) return [answer(entry['message'], entry)];
    const text =
      entry['text'] ?? entry['outputText'] ?? entry['generated_text'] ?? inner['text'] ?? entry['completion'];
    return typeof text === 'string' ? [answer({ content: text }, entry)] : [];
  });
  if (found.length > 0) return found;
  const calls = json['tool_calls'];
  const text =
    json['text'] ??
    json['generation'] ??
    json['completion'] ??
    json['response'] ??
    json['generated_text'] ??
    json['output_text'] ??
    json['content'] ??
    (typeof json['output'] === 'string' ? json['output'] : undefined);
  if (typeof text !== 'string' && !Array.isArray(calls)) return [];
  const message: JsonObject = { role: 'assistant', content: typeof text === 'string' ? text : null };
  if (Array.isArray(calls)) message['tool_calls'] = objectsOf(calls).map(cohereCall);
  return [{ message, finishReason: finish }];
}

function answer(message: JsonObject, entry: JsonObject): Answer {
  return {
    message: { role: 'assistant', ...message },
    finishReason: entry['finish_reason'] ?? entry['completionReason'] ?? entry['stop_reason'] ?? entry['finishReason'],
  };
}

/** Gemini interactions answer in steps. */
function interactionMessage(steps: JsonObject[]): JsonObject {
  const calls = steps.filter((step) => step['type'] === 'function_call');
  const content = steps.flatMap((step) => (step['type'] === 'model_output' ? arrayOf(step['content']) : []));
  return {
    role: 'assistant',
    content,
    tool_calls: calls.map((step) => ({
      id: step['id'] ?? null,
      function: { name: step['name'] ?? '', arguments: step['arguments'] ?? {} },
    })),
  };
}

/** Cohere v2 puts its plan beside the content. */
function cohereMessage(message: JsonObject): JsonObject {
  const plan = filledOf(message['tool_plan']);
  return plan === undefined || message['content'] !== undefined ? message : { ...message, reasoning: plan };
}

/** Cohere v1 has `{name, parameters}` and no id. */
function cohereCall(call: JsonObject): JsonObject {
  if (isObject(call['function'])) return call;
  return {
    id: call['id'] ?? null,
    function: { name: call['name'] ?? '', arguments: call['parameters'] ?? call['arguments'] ?? {} },
  };
}

function vectorsOf(json: JsonObject): Json[] | undefined {
  const { embeddings, embedding, predictions } = json;
  if (Array.isArray(embeddings)) {
    return embeddings.map((entry) => (isObject(entry) ? (entry['values'] ?? entry['embedding'] ?? null) : entry));
  }
  if (isObject(embeddings)) return arrayOf(Object.values(embeddings)[0]);
  if (Array.isArray(embedding)) return [embedding];
  if (isObject(embedding)) return [embedding['values'] ?? null];
  const vectors = objectsOf(predictions).map((entry) => objectOf(entry['embeddings'])['values'] ?? null);
  if (vectors.some(Array.isArray)) return vectors;
  const data = objectsOf(json['data']);
  return data.some((entry) => entry['embedding'] !== undefined)
    ? data.map((entry) => entry['embedding'] ?? null)
    : undefined;
}

function otherUsage(json: JsonObject): ResponseView['usage'] {
  const openai = chatUsage(json['usage']);
  if (openai?.inputTokens !== undefined) return openai;
  const meta = objectOf(json['meta'] ?? json['usage']);
  const counted = objectOf(meta['tokens'] ?? meta['billed_units']);
  const first = objectOf(objectsOf(json['results'])[0]);
  const metrics = objectOf(json['amazon-bedrock-invocationMetrics']);
  const interaction = objectOf(json['usage']);
  return usageOf({
    inputTokens:
      json['prompt_eval_count'] ??
      counted['input_tokens'] ??
      json['inputTextTokenCount'] ??
      json['prompt_token_count'] ??
      first['input_token_count'] ??
      interaction['total_input_tokens'] ??
      metrics['inputTokenCount'],
    outputTokens:
      json['eval_count'] ??
      counted['output_tokens'] ??
      first['tokenCount'] ??
      json['generation_token_count'] ??
      first['generated_token_count'] ??
      interaction['total_output_tokens'] ??
      metrics['outputTokenCount'],
    totalTokens: interaction['total_tokens'],
  });
}
