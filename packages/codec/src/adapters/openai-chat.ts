/** Adapter of OpenAI chat completions and the many servers that speak it. */
import type { Json, JsonObject, Message, RequestView, ResponseView, ToolCall } from '@orangebox/schema';
import { ChatAccumulator } from './chat-accumulator.ts';
import { ChatViewBuilder } from './chat-view.ts';
import type { AdapterInput } from './input.ts';
import { filledOf, isObject, objectOf, objectsOf, parseJson, stringOf, textOrJson, unknownMembers } from './json.ts';
import {
  emptyResponse,
  errorOf,
  fillContent,
  isFilled,
  readContent,
  summariseChoices,
  toolCall,
  usageOf,
} from './message.ts';
import type { Described } from './described.ts';
import { openAiCall } from './openai-call.ts';

/** Members of a request that are shown outside of the parameters. */
const APART = new Set(['model', 'messages', 'tools', 'functions', 'stream']);
/** Members of a message that its view shows whole. */
const SHOWN = new Set([
  'role',
  'content',
  'name',
  'refusal',
  'tool_calls',
  'tool_call_id',
  'function_call',
  'reasoning',
  'reasoning_content',
]);
const RESPONSE_KNOWN = new Set([
  'id',
  'object',
  'created',
  'model',
  'choices',
  'usage',
  'service_tier',
  'system_fingerprint',
  'error',
]);

/** Views of a chat completions exchange. */
export function describeChat(input: AdapterInput): Described {
  return {
    call: openAiCall(input, { api: 'openai.chat', operation: 'chat', apart: APART }),
    request: chatRequest(input.request),
    response: chatResponse(input),
  };
}

function chatRequest(body: JsonObject | undefined): RequestView {
  const view: RequestView = { messages: objectsOf(body?.['messages']).map(chatMessage) };
  const tools = body?.['tools'] ?? body?.['functions'];
  if (Array.isArray(tools)) view.tools = tools;
  return view;
}

/** One chat message, of a request or of an answer. */
export function chatMessage(source: JsonObject): Message {
  const role = stringOf(source['role']) ?? 'assistant';
  const message: Message = { role };
  const content = readContent(source['content']);
  const reasoning = reasoningOf(source);
  if (role === 'tool' || role === 'function') {
    const callId = filledOf(source['tool_call_id']);
    const name = filledOf(source['name']);
    message.toolResult = {
      ...(callId === undefined ? {} : { callId }),
      ...(name === undefined ? {} : { name }),
      content: content.text.length > 0 ? content.text.join('\n') : textOrJson(source['content']),
    };
    if (content.attachments.length > 0) message.attachments = content.attachments;
  } else {
    if (reasoning !== undefined) content.reasoning.unshift(reasoning);
    const refusal = filledOf(source['refusal']);
    if (refusal !== undefined) content.refusal.push(refusal);
    fillContent(message, content);
    const calls = toolCallsOf(source);
    if (calls.length > 0) message.toolCalls = calls;
  }
  if (content.more || hasMore(source)) message.raw = source;
  return message;
}

/** Reasoning under the names that compatible servers give it. */
export function reasoningOf(source: JsonObject): string | undefined {
  const value = source['reasoning_content'] ?? source['reasoning'];
  return filledOf(value);
}

function hasMore(source: JsonObject): boolean {
  for (const key of Object.keys(source)) {
    if (SHOWN.has(key)) continue;
    const value = source[key];
    if (value === null || (Array.isArray(value) && value.length === 0)) continue;
    return true;
  }
  return false;
}

/** The tool calls of a message, with the older `function_call`. */
export function toolCallsOf(source: JsonObject): ToolCall[] {
  const calls = objectsOf(source['tool_calls']).map(readToolCall);
  const single = source['function_call'];
  if (isFilled(single)) calls.push(toolCall(undefined, single['name'], single['arguments'], 'function'));
  return calls;
}

function readToolCall(call: JsonObject): ToolCall {
  const type = stringOf(call['type']) ?? 'function';
  const custom = call['custom'];
  if (isFilled(custom)) return toolCall(call['id'], custom['name'], custom['input'], 'custom');
  const fn = isObject(call['function']) ? call['function'] : call;
  return toolCall(call['id'], fn['name'], fn['arguments'], type);
}

function chatResponse(input: AdapterInput): ResponseView {
  const view = emptyResponse();
  if (!input.exchange.response) return view;
  if (input.isSse) readStream(view, input);
  else {
    const json = input.responseJson;
    const final = json ?? filledOf(input.responseText);
    if (final !== undefined) view.final = final;
    if (isObject(json)) fillFromCompletion(view, json, objectsOf(json['choices']).map(readChoice));
    if ((input.status ?? 0) >= 400) {
      const error = errorOf(json) ?? textError(input.responseText);
      if (error) view.error = error;
    }
  }
  summariseChoices(view);
  return view;
}

/** The error that a body which is no JSON tells. */
export function textError(text: string): ResponseView['error'] | undefined {
  const message = text.trim();
  return message === '' ? undefined : { message: message.slice(0, 2000) };
}

function readChoice(choice: JsonObject, at: number): ResponseView['choices'][number] {
  const index = typeof choice['index'] === 'number' ? choice['index'] : at;
  const finishReason = filledOf(choice['finish_reason']);
  const message = chatMessage({ role: 'assistant', ...objectOf(choice['message']) });
  return { index, ...(finishReason === undefined ? {} : { finishReason }), message };
}

function fillFromCompletion(view: ResponseView, completion: JsonObject, choices: ResponseView['choices']): void {
  const id = filledOf(completion['id']);
  const model = filledOf(completion['model']);
  const tier = filledOf(completion['service_tier']);
  const fingerprint = filledOf(completion['system_fingerprint']);
  if (id !== undefined) view.id = id;
  if (model !== undefined) view.model = model;
  if (tier !== undefined) view.serviceTier = tier;
  if (fingerprint !== undefined) view.systemFingerprint = fingerprint;
  view.choices = choices;
  const usage = chatUsage(usageMember(completion));
  if (usage) view.usage = usage;
  const unknown = unknownMembers(completion, RESPONSE_KNOWN);
  if (unknown) view.unknown = unknown;
  if (completion['error'] !== undefined && completion['error'] !== null) {
    const error = errorOf(completion);
    if (error) view.error = error;
  }
}

/** Usage where compatible servers put it: at the top, in `x_groq`, or in the last choice of a stream. */
function usageMember(completion: JsonObject): Json | undefined {
  if (isObject(completion['usage'])) return completion['usage'];
  const groq = objectOf(completion['x_groq'])['usage'];
  if (groq !== undefined) return groq;
  return objectsOf(completion['choices']).find((choice) => isObject(choice['usage']))?.['usage'];
}

/** Usage of chat and text completions. */
export function chatUsage(source: Json | undefined): ResponseView['usage'] {
  if (!isObject(source)) return undefined;
  const input = objectOf(source['prompt_tokens_details'] ?? source['prompt_token_details']);
  const output = objectOf(source['completion_tokens_details'] ?? source['completion_token_details']);
  return usageOf({
    inputTokens: source['prompt_tokens'] ?? source['input_tokens'],
    outputTokens: source['completion_tokens'] ?? source['output_tokens'],
    cacheReadInputTokens:
      input['cached_tokens'] ??
      source['prompt_cache_hit_tokens'] ??
      source['cached_tokens'] ??
      source['cache_read_input_tokens'] ??
      source['num_cached_tokens'],
    cacheCreationInputTokens:
      input['cache_write_tokens'] ?? input['cache_creation_tokens'] ?? source['cache_creation_input_tokens'],
    reasoningTokens: output['reasoning_tokens'] ?? source['reasoning_tokens'],
    totalTokens: source['total_tokens'],
  });
}

function readStream(view: ResponseView, input: AdapterInput): void {
  const accumulator = new ChatAccumulator();
  const builder = new ChatViewBuilder();
  let usage: Json | undefined;
  for (const event of input.events) {
    if (event.data.startsWith('[DONE]')) break;
    const chunk = parseJson(event.data);
    if (!isObject(chunk)) continue;
    if (chunk['error'] !== undefined && chunk['error'] !== null && chunk['error'] !== false) {
      // The SDK throws here; what came before stays in the view.
      const error = errorOf(chunk);
      if (error) view.error = error;
      break;
    }
    if (event.event === 'error') {
      const error = errorOf(chunk);
      if (error) view.error = error;
    }
    usage = usageMember(chunk) ?? usage;
    // Before the accumulator, which goes on writing into the objects of the chunk it saw first.
    builder.add(chunk);
    accumulator.add(chunk);
  }
  const completion = accumulator.final(input.request);
  if (completion === undefined) return;
  view.final = completion;
  const error = view.error;
  fillFromCompletion(view, usage === undefined ? completion : { ...completion, usage }, builder.choices());
  if (error) view.error = error;
}
