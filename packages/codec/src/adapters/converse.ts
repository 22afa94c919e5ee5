/** Conversation view of Bedrock's `converse` bodies, and of Nova's, which have the same shape. */
import { appendAll } from '../append-all.ts';
import type { Json, JsonObject, Message, ResponseView } from '@orangebox/schema';
import type { EventFrame } from './event-stream.ts';
import { filledOf, isObject, numberOf, objectOf, objectsOf, parseJson, stringOf, textOrJson } from './json.ts';
import { toolCall, usageOf } from './message.ts';

const FILES = ['image', 'document', 'video', 'audio'] as const;

/** Messages of a request: `system`, then the turns; each tool result is a message of its own. */
export function converseMessages(body: JsonObject): Message[] {
  const system = objectsOf(body['system']).map((block) => textOrJson(block['text']));
  const messages: Message[] = system.length > 0 ? [{ role: 'system', text: system.join('\n') }] : [];
  for (const message of objectsOf(body['messages'])) appendAll(messages, converseTurn(message));
  return messages;
}

/** One turn; more than one message where it carries tool results. */
export function converseTurn(source: JsonObject): Message[] {
  const message: Message = { role: stringOf(source['role']) ?? 'assistant' };
  const results: Message[] = [];
  const texts: string[] = [];
  let more = false;
  for (const block of objectsOf(source['content'])) {
    const { toolUse, toolResult, reasoningContent } = block;
    if (typeof block['text'] === 'string') texts.push(block['text']);
    else if (isObject(toolUse)) {
      const call = toolCall(toolUse['toolUseId'], toolUse['name'], toolUse['input'], 'function');
      message.toolCalls = [...(message.toolCalls ?? []), call];
    } else if (isObject(toolResult)) results.push(resultMessage(toolResult));
    else {
      more = true;
      const cited = objectOf(block['citationsContent'])['content'];
      appendAll(
        texts,
        objectsOf(cited).map((part) => textOrJson(part['text'])),
      );
      const thought = objectOf(objectOf(reasoningContent)['reasoningText'])['text'];
      if (typeof thought === 'string') message.reasoning = (message.reasoning ?? '') + thought;
      const file = FILES.find((type) => isObject(block[type]));
      if (file) message.attachments = [...(message.attachments ?? []), { type: file }];
    }
  }
  if (texts.length > 0) message.text = texts.join(message.role === 'assistant' ? '' : '\n');
  if (more) message.raw = source;
  const empty = texts.length === 0 && !message.toolCalls && !more;
  return empty && results.length > 0 ? results : [...results, message];
}

function resultMessage(result: JsonObject): Message {
  const parts = objectsOf(result['content']);
  const callId = filledOf(result['toolUseId']);
  return {
    role: 'tool',
    toolResult: {
      ...(callId === undefined ? {} : { callId }),
      content: parts.map((part) => textOrJson(part['text'] ?? part['json'] ?? part)).join('\n'),
      ...(result['status'] === 'error' ? { isError: true } : {}),
    },
  };
}

/** Fills a view from a whole answer. */
export function fillConverse(view: ResponseView, answer: JsonObject): void {
  const finishReason = filledOf(answer['stopReason']);
  const message = converseTurn(objectOf(objectOf(answer['output'])['message'])).at(-1) ?? { role: 'assistant' };
  view.choices.push({ index: 0, ...(finishReason === undefined ? {} : { finishReason }), message });
  const usage = objectOf(answer['usage']);
  const read = numberOf(usage['cacheReadInputTokens'] ?? usage['cacheReadInputTokenCount']);
  const written = numberOf(usage['cacheWriteInputTokens'] ?? usage['cacheWriteInputTokenCount']);
  const input = numberOf(usage['inputTokens']);
  const counts = usageOf({
    inputTokens: input === undefined ? undefined : input + (read ?? 0) + (written ?? 0),
    outputTokens: usage['outputTokens'],
    cacheReadInputTokens: read,
    cacheCreationInputTokens: written,
    totalTokens: usage['totalTokens'],
  });
  if (counts) view.usage = counts;
}

/** Assembles `converse-stream` frames, or Nova's chunks, which hold each event under its name. */
export function assembleConverse(frames: readonly EventFrame[], view: ResponseView): JsonObject {
  const message: JsonObject = { role: 'assistant' };
  const answer: JsonObject = {};
  const blocks = new Map<number, JsonObject>();
  const inputs = new Map<number, string>();
  for (const frame of frames) {
    if (frame.exception) {
      view.error = { type: frame.type, message: stringOf(frame.payload['message']) ?? frame.type };
      continue;
    }
    const named = Object.keys(frame.payload).length === 1 ? Object.keys(frame.payload)[0] : undefined;
    const nested = frame.type === 'chunk' && named !== undefined ? frame.payload[named] : undefined;
    const type = isObject(nested) && named !== undefined ? named : frame.type;
    const event = isObject(nested) ? nested : frame.payload;
    const index = numberOf(event['contentBlockIndex']) ?? 0;
    if (type === 'messageStart') message['role'] = event['role'] ?? 'assistant';
    else if (type === 'contentBlockStart') blocks.set(index, startBlock(objectOf(event['start'])));
    else if (type === 'contentBlockDelta') addDelta(blocks, inputs, index, objectOf(event['delta']));
    else if (type === 'messageStop') answer['stopReason'] = event['stopReason'] ?? null;
    else if (type === 'metadata') Object.assign(answer, event);
  }
  for (const [index, text] of inputs) {
    const toolUse = blocks.get(index)?.['toolUse'];
    if (isObject(toolUse)) toolUse['input'] = parseJson(text) ?? text;
  }
  message['content'] = [...blocks.values()];
  answer['output'] = { message };
  return answer;
}

function startBlock(start: JsonObject): JsonObject {
  return isObject(start['toolUse']) ? { toolUse: { ...start['toolUse'] } } : {};
}

function addDelta(
  blocks: Map<number, JsonObject>,
  inputs: Map<number, string>,
  index: number,
  delta: JsonObject,
): void {
  const block: JsonObject = blocks.get(index) ?? {};
  blocks.set(index, block);
  if (typeof delta['text'] === 'string') block['text'] = textOrJson(block['text']) + delta['text'];
  else if (isObject(delta['toolUse'])) {
    inputs.set(index, (inputs.get(index) ?? '') + textOrJson(delta['toolUse']['input']));
  } else if (isObject(delta['reasoningContent'])) addReasoning(block, delta['reasoningContent']);
}

function addReasoning(block: JsonObject, piece: JsonObject): void {
  const known = objectOf(objectOf(block['reasoningContent'])['reasoningText']);
  const next: { [key: string]: Json } = { ...known };
  if (typeof piece['text'] === 'string') next['text'] = textOrJson(known['text']) + piece['text'];
  if (piece['signature'] !== undefined) next['signature'] = piece['signature'];
  block['reasoningContent'] = { reasoningText: next };
}
