/** Pieces of the one message shape that all adapters fill. */
import { appendAll } from '../append-all.ts';
import type { Json, JsonObject, Message, ResponseView, ToolCall, Usage } from '@orangebox/schema';
import { arrayOf, filledOf, isObject, numberOf, objectOf, stringOf, textOrJson } from './json.ts';

/** What an adapter gathers from the parts of a message's content. */
export interface ContentParts {
  text: string[];
  reasoning: string[];
  refusal: string[];
  attachments: { type: string; sizeBytes?: number; name?: string }[];
  /** A part says more than the fields above can show. */
  more: boolean;
}

const TEXT_PARTS = new Set(['text', 'input_text', 'output_text', 'summary_text']);
const REASONING_PARTS = new Set(['thinking', 'reasoning', 'reasoning_text', 'redacted_thinking']);

/** Sorts the content of an OpenAI-shaped message: a string, or an array of typed parts. */
export function readContent(content: Json | undefined): ContentParts {
  const out: ContentParts = { text: [], reasoning: [], refusal: [], attachments: [], more: false };
  if (typeof content === 'string') {
    out.text.push(content);
    return out;
  }
  const parts = isObject(content) ? [content] : arrayOf(content);
  for (const part of parts) {
    if (typeof part === 'string') out.text.push(part);
    else if (isObject(part)) readPart(part, out);
  }
  return out;
}

function readPart(part: JsonObject, out: ContentParts): void {
  const type = stringOf(part['type']) ?? (typeof part['text'] === 'string' ? 'text' : 'unknown');
  if (TEXT_PARTS.has(type)) {
    out.text.push(textOrJson(part['text']));
    if (Object.keys(part).length > 2) out.more = true;
  } else if (REASONING_PARTS.has(type)) {
    out.reasoning.push(thinkingText(part['thinking'] ?? part['reasoning'] ?? part['text']));
    out.more = true;
  } else if (type === 'refusal') out.refusal.push(textOrJson(part['refusal']));
  else {
    out.attachments.push(attachment(type, part));
    out.more = true;
  }
}

/** Mistral nests text parts in a thinking part. */
function thinkingText(value: Json | undefined): string {
  if (Array.isArray(value)) return value.map((part) => textOrJson(objectOf(part)['text'])).join('');
  return textOrJson(value);
}

function attachment(type: string, part: JsonObject): ContentParts['attachments'][number] {
  const inner = isObject(part[type]) ? part[type] : part;
  const name = stringOf(inner['filename']) ?? stringOf(inner['file_id']) ?? stringOf(inner['file_name']);
  const sizeBytes = dataSize(
    inner['data'] ?? inner['file_data'] ?? inner['url'] ?? part['image_url'] ?? part['file_url'],
  );
  return {
    type: type.replace(/^input_/, '').replace(/_url$/, ''),
    ...(sizeBytes === undefined ? {} : { sizeBytes }),
    ...(name === undefined ? {} : { name }),
  };
}

/** Decoded size of base64 data or a base64 data URL; undefined for addresses. */
export function dataSize(value: Json | undefined): number | undefined {
  if (typeof value !== 'string') return undefined;
  const comma = value.startsWith('data:') ? value.indexOf(',') : -1;
  if (comma < 0 && /^[a-z]+:\/\//i.test(value.slice(0, 12))) return undefined;
  const length = value.length - comma - 1;
  const padding = value.endsWith('==') ? 2 : value.endsWith('=') ? 1 : 0;
  return Math.max(0, Math.floor((length * 3) / 4) - padding);
}

/** Text of several parts. An answer's parts are one text that was cut; others were written apart. */
export function joinText(parts: readonly string[], role: string): string | undefined {
  if (parts.length === 0) return undefined;
  return parts.join(role === 'assistant' ? '' : '\n');
}

/** Fills a message's members from its sorted content; absent stays absent. */
export function fillContent(message: Message, content: ContentParts): void {
  const text = joinText(content.text, message.role);
  if (text !== undefined && (text !== '' || content.text.length === 1)) message.text = text;
  if (content.reasoning.length > 0) message.reasoning = content.reasoning.join('');
  if (content.refusal.length > 0) message.refusal = content.refusal.join('');
  if (content.attachments.length > 0) message.attachments = content.attachments;
}

/** A tool call's members; `args` that are an object become JSON text. */
export function toolCall(id: Json | undefined, name: Json | undefined, args: Json | undefined, type: string): ToolCall {
  const known = filledOf(id);
  return {
    ...(known === undefined ? {} : { id: known }),
    name: stringOf(name) ?? '',
    arguments: textOrJson(args),
    type,
  };
}

/** Some servers send every member there is, those without a meaning with empty strings. */
export function isFilled(call: Json | undefined): call is JsonObject {
  return (
    isObject(call) && (filledOf(call['name']) ?? filledOf(call['arguments']) ?? filledOf(call['input'])) !== undefined
  );
}

/** Usage with what is undefined left out; undefined when nothing is left. */
export function usageOf(counts: { [K in keyof Usage]: Json | undefined }): Usage | undefined {
  const usage: Usage = {};
  let any = false;
  for (const key of Object.keys(counts) as (keyof Usage)[]) {
    const value = numberOf(counts[key]);
    if (value === undefined) continue;
    usage[key] = value;
    any = true;
  }
  return any ? usage : undefined;
}

/** A response view with nothing in it. */
export function emptyResponse(): ResponseView {
  return { choices: [], toolCalls: [], finishReasons: [] };
}

/** Fills the lists that are derived from the choices. */
export function summariseChoices(view: ResponseView): void {
  for (const choice of view.choices) {
    if (choice.message.toolCalls) appendAll(view.toolCalls, choice.message.toolCalls);
    if (choice.finishReason !== undefined) view.finishReasons.push(choice.finishReason);
  }
}

/** The error object of an answer: `{error: {…}}`, `{error: "…"}`, `{message, type, code}`, `{detail}`. */
export function errorOf(value: Json | undefined): ResponseView['error'] | undefined {
  if (!isObject(value)) return undefined;
  const inner = value['error'];
  if (typeof inner === 'string') return { message: inner };
  const source = isObject(inner) ? inner : value;
  const nested = isObject(source['error']) ? source['error'] : source;
  const message = stringOf(nested['message']) ?? stringOf(nested['Message']) ?? detailText(nested['detail']);
  if (message === undefined && !isObject(inner)) return undefined;
  const type = stringOf(nested['type']) ?? stringOf(nested['__type']) ?? stringOf(nested['status']);
  const code = nested['code'];
  return {
    message: message ?? JSON.stringify(nested),
    ...(type === undefined ? {} : { type }),
    ...(typeof code === 'string' || typeof code === 'number' ? { code: String(code) } : {}),
  };
}

function detailText(detail: Json | undefined): string | undefined {
  return detail === undefined || detail === null ? undefined : textOrJson(detail);
}
