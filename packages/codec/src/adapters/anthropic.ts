/** Conversation view of Anthropic-shaped bodies, also inside Bedrock and Vertex. */
import { appendAll } from '../append-all.ts';
import type { Json, JsonObject, Message, ResponseView, ToolCall } from '@orangebox/schema';
import { filledOf, isObject, numberOf, objectOf, objectsOf, parseJson, stringOf, textOrJson } from './json.ts';
import { dataSize, errorOf, toolCall, usageOf } from './message.ts';

/** Messages of a request: `system`, then the turns; each tool result stands as a message of its own. */
export function anthropicMessages(body: JsonObject): Message[] {
  const messages: Message[] = [];
  const { system } = body;
  if (typeof system === 'string' && system !== '') messages.push({ role: 'system', text: system });
  else if (Array.isArray(system)) {
    const text = objectsOf(system).map((block) => textOrJson(block['text']));
    messages.push({ role: 'system', text: text.join('\n') });
  }
  for (const message of objectsOf(body['messages'])) {
    appendAll(messages, anthropicTurn(stringOf(message['role']) ?? 'user', message['content']));
  }
  return messages;
}

/** One turn; more than one message where it carries tool results. */
export function anthropicTurn(role: string, content: Json | undefined): Message[] {
  if (typeof content === 'string') return [{ role, text: content }];
  const results: Message[] = [];
  const message: Message = { role };
  const texts: string[] = [];
  const thoughts: string[] = [];
  const calls: ToolCall[] = [];
  let more = false;
  for (const block of objectsOf(content)) {
    const type = stringOf(block['type']) ?? '';
    if (type === 'text') texts.push(textOrJson(block['text']));
    else if (type === 'thinking') thoughts.push(textOrJson(block['thinking']));
    else if (type === 'tool_use') calls.push(toolCall(block['id'], block['name'], block['input'], 'function'));
    else if (type === 'tool_result') results.push(toolResult(block));
    else if (type === 'server_tool_use' || type === 'mcp_tool_use') {
      calls.push(toolCall(block['id'], block['name'], block['input'], type));
    } else if (type === 'image' || type === 'document') {
      const sizeBytes = dataSize(objectOf(block['source'])['data']);
      message.attachments = [
        ...(message.attachments ?? []),
        { type, ...(sizeBytes === undefined ? {} : { sizeBytes }) },
      ];
    }
    more ||= !['text', 'tool_use', 'tool_result'].includes(type) || Array.isArray(block['citations']);
  }
  if (texts.length > 0) message.text = texts.join(role === 'assistant' ? '' : '\n');
  if (thoughts.length > 0) message.reasoning = thoughts.join('\n');
  if (calls.length > 0) message.toolCalls = calls;
  if (more) message.raw = content ?? null;
  const empty = texts.length === 0 && calls.length === 0 && message.raw === undefined;
  return empty && results.length > 0 ? results : [...results, message];
}

function toolResult(block: JsonObject): Message {
  const { content } = block;
  const parts = objectsOf(content);
  const plain = parts.length > 0 && parts.every((part) => part['type'] === 'text');
  const callId = filledOf(block['tool_use_id']);
  return {
    role: 'tool',
    toolResult: {
      ...(callId === undefined ? {} : { callId }),
      content: plain ? parts.map((part) => textOrJson(part['text'])).join('\n') : textOrJson(content),
      ...(block['is_error'] === true ? { isError: true } : {}),
    },
  };
}

/** Fills a view from a whole message. */
export function fillAnthropic(view: ResponseView, message: JsonObject): void {
  const id = filledOf(message['id']);
  const model = filledOf(message['model']);
  const finishReason = filledOf(message['stop_reason']);
  if (id !== undefined) view.id = id;
  if (model !== undefined) view.model = model;
  const turn = anthropicTurn('assistant', message['content']).at(-1) ?? { role: 'assistant' };
  view.choices.push({ index: 0, ...(finishReason === undefined ? {} : { finishReason }), message: turn });
  const usage = anthropicUsage(message['usage']);
  if (usage) view.usage = usage;
}

/** Usage; input tokens include the cached ones, as the conventions ask. */
export function anthropicUsage(source: Json | undefined): ResponseView['usage'] {
  if (!isObject(source)) return undefined;
  const read = numberOf(source['cache_read_input_tokens']);
  const created = numberOf(source['cache_creation_input_tokens']);
  const input = numberOf(source['input_tokens']);
  return usageOf({
    inputTokens: input === undefined ? undefined : input + (read ?? 0) + (created ?? 0),
    outputTokens: source['output_tokens'],
    cacheReadInputTokens: read,
    cacheCreationInputTokens: created,
  });
}

/** Whether an event belongs to a message stream. */
export function isAnthropicEvent(event: JsonObject | undefined): boolean {
  const type = event?.['type'];
  return type === 'message_start' || type === 'content_block_start';
}

/** Assembles the events of a message stream; an error frame goes to the view. */
export function assembleAnthropic(events: readonly JsonObject[], view: ResponseView): JsonObject {
  let message: JsonObject = { type: 'message', role: 'assistant', content: [] };
  const blocks = new Map<number, JsonObject>();
  const inputs = new Map<number, string>();
  for (const event of events) {
    const index = numberOf(event['index']) ?? 0;
    const block = blocks.get(index);
    switch (event['type']) {
      case 'message_start':
        message = { ...objectOf(event['message']) };
        break;
      case 'content_block_start':
        blocks.set(index, { ...objectOf(event['content_block']) });
        break;
      case 'content_block_delta':
        if (block) addDelta(block, objectOf(event['delta']), index, inputs);
        break;
      case 'content_block_stop':
        if (block && inputs.has(index)) block['input'] = parseJson(inputs.get(index)) ?? inputs.get(index) ?? {};
        break;
      case 'message_delta':
        Object.assign(message, objectOf(event['delta']));
        message['usage'] = { ...objectOf(message['usage']), ...withoutNulls(objectOf(event['usage'])) };
        break;
      case 'error': {
        const error = errorOf(event);
        if (error) view.error = error;
        break;
      }
      default:
    }
  }
  for (const [index, text] of inputs) {
    const block = blocks.get(index);
    if (block && !isObject(block['input'])) block['input'] = parseJson(text) ?? text;
  }
  message['content'] = [...blocks.values()];
  return message;
}

function withoutNulls(source: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(source).filter(([, value]) => value !== null));
}

function addDelta(block: JsonObject, delta: JsonObject, index: number, inputs: Map<number, string>): void {
  switch (delta['type']) {
    case 'text_delta':
      block['text'] = textOrJson(block['text']) + textOrJson(delta['text']);
      break;
    case 'thinking_delta':
      block['thinking'] = textOrJson(block['thinking']) + textOrJson(delta['thinking']);
      break;
    case 'signature_delta':
      block['signature'] = delta['signature'] ?? null;
      break;
    case 'citations_delta':
      block['citations'] = [
        ...(Array.isArray(block['citations']) ? block['citations'] : []),
        delta['citation'] ?? null,
      ];
      break;
    case 'input_json_delta':
      inputs.set(index, (inputs.get(index) ?? '') + textOrJson(delta['partial_json']));
      break;
    default:
  }
}
