/** Adapter of the OpenAI responses API. */
import { appendAll } from '../append-all.ts';
import type { Json, JsonObject, Message, RequestView, ResponseView } from '@orangebox/schema';
import { isClientCall } from '../client-call.ts';
import type { Described } from './described.ts';
import type { AdapterInput } from './input.ts';
import { filledOf, isObject, objectOf, objectsOf, parseJson, stringOf, textOrJson, unknownMembers } from './json.ts';
import { emptyResponse, errorOf, fillContent, readContent, summariseChoices, toolCall, usageOf } from './message.ts';
import { decodeSegment, openAiCall } from './openai-call.ts';
import { textError } from './openai-chat.ts';
import { outputText, ResponsesAccumulator } from './responses-accumulator.ts';

const APART = new Set(['model', 'input', 'instructions', 'tools', 'stream', 'previous_response_id', 'conversation']);

/** Members of an answer that repeat the request or are shown. */
const RESPONSE_KNOWN = new Set([
  'id', 'object', 'created_at', 'completed_at', 'status', 'background', 'error', 'incomplete_details', 'instructions',
  'max_output_tokens', 'max_tool_calls', 'model', 'output', 'output_text', 'output_parsed', 'parallel_tool_calls',
  'previous_response_id', 'prompt_cache_key', 'prompt_cache_retention', 'reasoning', 'safety_identifier',
  'service_tier', 'store', 'temperature', 'text', 'tool_choice', 'tools', 'top_logprobs', 'top_p', 'truncation',
  'usage', 'user', 'metadata', 'frequency_penalty', 'presence_penalty', 'prompt', 'conversation', 'billing',
]); // biome-ignore format: a plain list

/** Views of a responses exchange, of its compaction, and of polling a background response. */
export function describeResponses(input: AdapterInput): Described {
  const body = input.request;
  const response = responsesResponse(input);
  const call = openAiCall(input, { api: 'openai.responses', operation: 'chat', apart: APART });
  const requestModel = call.requestModel ?? polledModel(input, response);
  return {
    call: {
      ...call,
      ...(requestModel === undefined ? {} : { requestModel }),
      stream: call.stream || /[?&]stream=true\b/.test(input.exchange.request.url),
    },
    request: input.method === 'GET' ? polledRequest(input.path) : responsesRequest(body),
    response,
  };
}

/** A GET has no body: the answer names the model. */
function polledModel(input: AdapterInput, response: ResponseView): string | undefined {
  return input.method === 'GET' ? response.model : undefined;
}

/** A poll continues the call that began the response. */
function polledRequest(path: string): RequestView {
  return { messages: [], previousResponseId: decodeSegment(path.slice(path.lastIndexOf('/') + 1)) };
}

function responsesRequest(body: JsonObject | undefined): RequestView {
  const view: RequestView = { messages: [] };
  if (!body) return view;
  const instructions = body['instructions'];
  if (typeof instructions === 'string' && instructions !== '') {
    view.messages.push({ role: 'system', text: instructions });
  } else if (Array.isArray(instructions)) appendAll(view.messages, objectsOf(instructions).map(responsesItem));
  const { input } = body;
  if (typeof input === 'string') view.messages.push({ role: 'user', text: input });
  else appendAll(view.messages, objectsOf(input).map(responsesItem));
  if (Array.isArray(body['tools'])) view.tools = body['tools'];
  const previous = filledOf(body['previous_response_id']);
  if (previous !== undefined) view.previousResponseId = previous;
  const conversation = filledOf(body['conversation']) ?? filledOf(objectOf(body['conversation'])['id']);
  if (conversation !== undefined) view.conversationId = conversation;
  return view;
}

const MESSAGE_SHOWN = new Set(['type', 'role', 'content', 'id', 'status']);

/** One input or output item as a message. */
export function responsesItem(item: JsonObject): Message {
  const type = stringOf(item['type']) ?? 'message';
  if (type === 'message') return messageItem(item);
  if (type === 'reasoning') return reasoningItem(item);
  if (type === 'function_call' || type === 'custom_tool_call' || type === 'mcp_call') {
    const args = type === 'custom_tool_call' ? item['input'] : item['arguments'];
    const message: Message = {
      role: 'assistant',
      toolCalls: [toolCall(item['call_id'] ?? item['id'], item['name'], args, callType(type))],
    };
    if (type === 'mcp_call') message.raw = item;
    return message;
  }
  if (type.endsWith('_output')) return outputItem(item, type);
  if (type.endsWith('_call')) {
    const args = item['action'] ?? item['arguments'] ?? item['code'] ?? item['queries'] ?? item['operation'];
    return {
      role: 'assistant',
      toolCalls: [
        toolCall(
          item['call_id'] ?? item['id'],
          type.slice(0, -5),
          args,
          item['execution'] === 'client' ? 'custom' : type,
        ),
      ],
      raw: item,
    };
  }
  return { role: stringOf(item['role']) ?? 'assistant', raw: item };
}

function callType(type: string): string {
  if (type === 'function_call') return 'function';
  return type === 'custom_tool_call' ? 'custom' : type;
}

function messageItem(item: JsonObject): Message {
  const message: Message = { role: stringOf(item['role']) ?? 'assistant' };
  const content = readContent(item['content']);
  // Annotations and log probabilities are the only more that output text has; empty ones are none.
  content.more = objectsOf(item['content']).some(hasMore);
  fillContent(message, content);
  if (content.more || Object.keys(item).some((key) => !MESSAGE_SHOWN.has(key))) message.raw = item;
  return message;
}

function hasMore(part: JsonObject): boolean {
  const type = part['type'];
  if (type !== 'output_text' && type !== 'input_text' && type !== 'text' && type !== 'refusal') return true;
  return Object.keys(part).some((key) => {
    if (key === 'type' || key === 'text' || key === 'refusal' || key === 'parsed') return false;
    const value = part[key];
    return value !== null && !(Array.isArray(value) && value.length === 0);
  });
}

function reasoningItem(item: JsonObject): Message {
  const texts = [...objectsOf(item['summary']), ...objectsOf(item['content'])]
    .map((part) => textOrJson(part['text']))
    .filter((text) => text !== '');
  return { role: 'assistant', ...(texts.length > 0 ? { reasoning: texts.join('\n') } : {}), raw: item };
}

function outputItem(item: JsonObject, type: string): Message {
  const callId = filledOf(item['call_id']);
  const output = item['output'] ?? item['tools'] ?? item['outputs'];
  const parts = Array.isArray(output) ? readContent(output) : undefined;
  const plain = parts && parts.attachments.length === 0 && parts.text.length > 0;
  const message: Message = {
    role: 'tool',
    toolResult: {
      ...(callId === undefined ? {} : { callId }),
      content: plain ? parts.text.join('\n') : textOrJson(output),
    },
  };
  if (parts && !plain && parts.attachments.length > 0 && type === 'function_call_output') {
    message.attachments = parts.attachments;
  }
  if (type !== 'function_call_output' && type !== 'custom_tool_call_output') message.raw = item;
  return message;
}

function responsesResponse(input: AdapterInput): ResponseView {
  const view = emptyResponse();
  if (!input.exchange.response) return view;
  if (input.isSse) readStream(view, input);
  else {
    const json = input.responseJson;
    if (isObject(json)) {
      // The SDK adds `output_text` to what the wire has.
      view.final = json['object'] === 'response' ? { ...json, output_text: outputText(json) } : json;
      fillFromResponse(view, json, input);
    } else {
      const final = json ?? filledOf(input.responseText);
      if (final !== undefined) view.final = final;
    }
    if ((input.status ?? 0) >= 400) {
      const error = errorOf(json) ?? textError(input.responseText);
      if (error) view.error = error;
    }
  }
  summariseChoices(view);
  return view;
}

function readStream(view: ResponseView, input: AdapterInput): void {
  const accumulator = new ResponsesAccumulator();
  for (const event of input.events) {
    if (event.data.startsWith('[DONE]')) break;
    const data = parseJson(event.data);
    if (!isObject(data)) continue;
    if (data['error'] !== undefined && data['error'] !== null && data['type'] !== 'response.failed') {
      const error = errorOf(data);
      if (error) view.error = error;
      break;
    }
    if (data['type'] === 'error' || event.event === 'error') {
      const error = errorOf(data);
      if (error) view.error = error;
      continue;
    }
    accumulator.add(data);
  }
  const final = accumulator.final(input.request);
  if (final === undefined) return;
  view.final = final;
  const error = view.error;
  fillFromResponse(view, final, input);
  if (error) view.error = error;
}

function fillFromResponse(view: ResponseView, response: JsonObject, input: AdapterInput): void {
  const id = filledOf(response['id']);
  const model = filledOf(response['model']);
  const tier = filledOf(response['service_tier']);
  if (id !== undefined) view.id = id;
  if (model !== undefined) view.model = model;
  if (tier !== undefined) view.serviceTier = tier;
  // Polling a foreground response again must not count its tokens again.
  if (input.method !== 'GET' || response['background'] === true) {
    const usage = responsesUsage(response['usage']);
    if (usage) view.usage = usage;
  }
  if (isObject(response['error'])) {
    const error = errorOf(response);
    if (error) view.error = error;
  }
  const items = objectsOf(response['output']);
  if (items.length > 0) {
    const message = mergeItems(items);
    const finishReason = finishReasonOf(response, message);
    view.choices.push({ index: 0, ...(finishReason === undefined ? {} : { finishReason }), message });
  }
  const unknown = unknownMembers(response, RESPONSE_KNOWN);
  if (unknown) view.unknown = unknown;
}

/** All items of an answer as the one message that they are in other protocols. */
function mergeItems(items: JsonObject[]): Message {
  const merged: Message = { role: 'assistant' };
  let more = false;
  for (const item of items) {
    const message = responsesItem(item);
    if (message.text !== undefined) merged.text = (merged.text ?? '') + message.text;
    if (message.reasoning !== undefined) {
      merged.reasoning =
        merged.reasoning === undefined ? message.reasoning : `${merged.reasoning}\n${message.reasoning}`;
    }
    if (message.refusal !== undefined) merged.refusal = (merged.refusal ?? '') + message.refusal;
    if (message.toolCalls) merged.toolCalls = [...(merged.toolCalls ?? []), ...message.toolCalls];
    if (message.attachments) merged.attachments = [...(merged.attachments ?? []), ...message.attachments];
    if (message.raw !== undefined && item['type'] !== 'reasoning') more = true;
  }
  if (more) merged.raw = items;
  return merged;
}

function finishReasonOf(response: JsonObject, message: Message): string | undefined {
  const status = stringOf(response['status']);
  if (status === 'incomplete') {
    const reason = stringOf(objectOf(response['incomplete_details'])['reason']);
    return reason === 'max_output_tokens' ? 'length' : (reason ?? status);
  }
  if (status !== 'completed') return status === 'failed' ? 'error' : status;
  const asks = message.toolCalls?.some(isClientCall);
  return asks ? 'tool_calls' : 'stop';
}

/** Usage of the responses API. */
export function responsesUsage(source: Json | undefined): ResponseView['usage'] {
  if (!isObject(source)) return undefined;
  const input = objectOf(source['input_tokens_details']);
  const output = objectOf(source['output_tokens_details']);
  return usageOf({
    inputTokens: source['input_tokens'],
    outputTokens: source['output_tokens'],
    cacheReadInputTokens: input['cached_tokens'],
    cacheCreationInputTokens: input['cache_write_tokens'] ?? input['cache_creation_tokens'],
    reasoningTokens: output['reasoning_tokens'],
    totalTokens: source['total_tokens'],
  });
}
