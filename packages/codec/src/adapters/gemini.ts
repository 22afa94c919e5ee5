/** Conversation view of Gemini and Vertex bodies (`contents`, `candidates`). */
import { appendAll } from '../append-all.ts';
import type { Json, JsonObject, Message, ResponseView } from '@orangebox/schema';
import { filledOf, isObject, numberOf, objectOf, objectsOf, stringOf, textOrJson } from './json.ts';
import { dataSize, toolCall, usageOf } from './message.ts';

/** A member under its camel case or snake case name. */
function either(source: JsonObject, camel: string, snake: string): Json | undefined {
  return source[camel] ?? source[snake];
}

/** Messages of a request: the system instruction, then the turns; each function response is a message of its own. */
export function geminiMessages(body: JsonObject): Message[] {
  const messages: Message[] = [];
  const system = either(body, 'systemInstruction', 'system_instruction');
  if (isObject(system)) {
    const texts = objectsOf(system['parts']).map((part) => textOrJson(part['text']));
    messages.push({ role: 'system', text: texts.join('\n') });
  } else if (typeof system === 'string') messages.push({ role: 'system', text: system });
  const contents = isObject(body['contents']) ? [body['contents']] : objectsOf(body['contents']);
  for (const content of contents) appendAll(messages, geminiTurn(content, 'user'));
  if (typeof body['contents'] === 'string') messages.push({ role: 'user', text: body['contents'] });
  return messages;
}

/** One `Content`; more than one message where it carries function responses. */
export function geminiTurn(content: JsonObject, role: string): Message[] {
  const own = stringOf(content['role']);
  const message: Message = { role: own === 'model' ? 'assistant' : own === 'function' ? 'tool' : (own ?? role) };
  const results: Message[] = [];
  const texts: string[] = [];
  const thoughts: string[] = [];
  let more = false;
  for (const part of objectsOf(content['parts'])) {
    const call = either(part, 'functionCall', 'function_call');
    const answer = either(part, 'functionResponse', 'function_response');
    const data = either(part, 'inlineData', 'inline_data') ?? either(part, 'fileData', 'file_data');
    // Streamed arguments come in parts without a name; the raw content has them.
    if (isObject(call) && filledOf(call['name']) === undefined) more = true;
    else if (isObject(call)) {
      const args = call['args'] ?? {};
      message.toolCalls = [...(message.toolCalls ?? []), toolCall(call['id'], call['name'], args, 'function')];
    } else if (isObject(answer)) results.push(functionResponse(answer));
    else if (typeof part['text'] === 'string') (part['thought'] === true ? thoughts : texts).push(part['text']);
    else {
      more = true;
      if (isObject(data)) message.attachments = [...(message.attachments ?? []), fileOf(data)];
    }
    more ||= Object.keys(part).length > 1;
  }
  if (texts.length > 0) message.text = texts.join(message.role === 'assistant' ? '' : '\n');
  if (thoughts.length > 0) message.reasoning = thoughts.join('');
  if (more) message.raw = content;
  const empty = texts.length === 0 && !message.toolCalls && !message.attachments;
  return empty && results.length > 0 ? results : [...results, message];
}

function functionResponse(answer: JsonObject): Message {
  const callId = filledOf(answer['id']);
  const name = filledOf(answer['name']);
  return {
    role: 'tool',
    toolResult: {
      ...(callId === undefined ? {} : { callId }),
      ...(name === undefined ? {} : { name }),
      content: textOrJson(answer['response']),
    },
  };
}

function fileOf(data: JsonObject): { type: string; sizeBytes?: number; name?: string } {
  const type = stringOf(either(data, 'mimeType', 'mime_type')) ?? 'file';
  const sizeBytes = dataSize(data['data']);
  const name = filledOf(either(data, 'fileUri', 'file_uri'));
  return { type, ...(sizeBytes === undefined ? {} : { sizeBytes }), ...(name === undefined ? {} : { name }) };
}

/** Joins the chunks of a stream: parts are appended, text to text of the same kind, the rest is the last chunk's. */
export function assembleGemini(chunks: readonly JsonObject[]): JsonObject {
  const out: JsonObject = {};
  const candidates = new Map<number, JsonObject>();
  for (const chunk of chunks) {
    Object.assign(out, chunk);
    for (const candidate of objectsOf(chunk['candidates'])) {
      const index = numberOf(candidate['index']) ?? 0;
      const known = candidates.get(index);
      const parts = [...objectsOf(objectOf(known?.['content'])['parts'])];
      for (const part of objectsOf(objectOf(candidate['content'])['parts'])) addPart(parts, part);
      const content = { ...objectOf(known?.['content']), ...objectOf(candidate['content']), parts };
      candidates.set(index, { ...known, ...candidate, content });
    }
  }
  out['candidates'] = [...candidates.values()];
  return out;
}

function addPart(parts: JsonObject[], part: JsonObject): void {
  const last = parts.at(-1);
  const joins =
    typeof part['text'] === 'string' && typeof last?.['text'] === 'string' && part['thought'] === last['thought'];
  if (joins) parts[parts.length - 1] = { ...last, ...part, text: `${last['text']}${part['text']}` };
  else parts.push(part);
}

/** Fills a view from a whole answer. */
export function fillGemini(view: ResponseView, answer: JsonObject): void {
  const id = filledOf(answer['responseId']);
  const model = filledOf(answer['modelVersion']);
  if (id !== undefined) view.id = id;
  if (model !== undefined) view.model = model;
  for (const [at, candidate] of objectsOf(answer['candidates']).entries()) {
    const finishReason = filledOf(candidate['finishReason']);
    const message = geminiTurn(objectOf(candidate['content']), 'assistant').at(-1) ?? { role: 'assistant' };
    view.choices.push({
      index: numberOf(candidate['index']) ?? at,
      ...(finishReason === undefined ? {} : { finishReason }),
      message,
    });
  }
  const blocked = stringOf(objectOf(answer['promptFeedback'])['blockReason']);
  if (blocked !== undefined) view.finishReasons.push(blocked);
  const usage = objectOf(answer['usageMetadata']);
  const thoughts = numberOf(usage['thoughtsTokenCount']);
  const written = numberOf(usage['candidatesTokenCount']);
  const counts = usageOf({
    inputTokens: usage['promptTokenCount'],
    outputTokens: written === undefined && thoughts === undefined ? undefined : (written ?? 0) + (thoughts ?? 0),
    cacheReadInputTokens: usage['cachedContentTokenCount'],
    reasoningTokens: thoughts,
    totalTokens: usage['totalTokenCount'],
  });
  if (counts) view.usage = counts;
}
