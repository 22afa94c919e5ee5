/**
 * Reads the chunks of a chat completion stream for people and for sessions: text, reasoning and tool calls as they were
 * meant, also in the dialects that the official SDK's accumulator garbles (reasoning in pieces, content as parts, tool
 * calls without an index or all with the same one, whole messages instead of deltas).
 */
import { appendAll } from '../append-all.ts';
import type { Json, JsonObject, Message, ResponseView, ToolCall } from '@orangebox/schema';
import { arrayOf, filledOf, isObject, objectOf, objectsOf, stringOf, textOrJson } from './json.ts';
import { fillContent, isFilled, readContent, type ContentParts } from './message.ts';

const DELTA_SHOWN = new Set([
  'role',
  'content',
  'refusal',
  'tool_calls',
  'function_call',
  'reasoning',
  'reasoning_content',
]);

interface PendingCall extends ToolCall {
  index: Json | undefined;
}

interface PendingChoice {
  index: number;
  role: string;
  content: ContentParts;
  calls: PendingCall[];
  finishReason: string | undefined;
  more: JsonObject | undefined;
}

/** Builds the choices of a view from chunks. */
export class ChatViewBuilder {
  readonly #choices = new Map<number, PendingChoice>();

  /** Takes the next chunk. */
  add(chunk: JsonObject): void {
    for (const source of arrayOf(chunk['choices'])) {
      if (!isObject(source)) continue;
      const index = typeof source['index'] === 'number' ? source['index'] : 0;
      let choice = this.#choices.get(index);
      if (!choice) {
        choice = newChoice(index);
        this.#choices.set(index, choice);
      }
      choice.finishReason = filledOf(source['finish_reason']) ?? choice.finishReason;
      const { delta, message } = source;
      if (isObject(delta)) addDelta(choice, delta);
      else if (isObject(message)) addDelta(choice, message);
    }
  }

  /** The choices, in the order of their index. */
  choices(): ResponseView['choices'] {
    return [...this.#choices.values()].sort((a, b) => a.index - b.index).map(finish);
  }
}

function newChoice(index: number): PendingChoice {
  return {
    index,
    role: 'assistant',
    content: { text: [], reasoning: [], refusal: [], attachments: [], more: false },
    calls: [],
    finishReason: undefined,
    more: undefined,
  };
}

function addDelta(choice: PendingChoice, delta: JsonObject): void {
  choice.role = filledOf(delta['role']) ?? choice.role;
  const { content } = delta;
  if (typeof content === 'string') {
    if (content !== '' || choice.content.text.length === 0) choice.content.text.push(content);
  } else if (Array.isArray(content)) {
    const parts = readContent(content);
    appendAll(choice.content.text, parts.text);
    appendAll(choice.content.reasoning, parts.reasoning);
    appendAll(choice.content.attachments, parts.attachments);
  }
  const reasoning = filledOf(delta['reasoning_content']) ?? filledOf(delta['reasoning']);
  if (reasoning !== undefined) choice.content.reasoning.push(reasoning);
  const refusal = filledOf(delta['refusal']);
  if (refusal !== undefined) choice.content.refusal.push(refusal);
  for (const call of objectsOf(delta['tool_calls'])) addCall(choice, call);
  if (isFilled(delta['function_call'])) {
    addCall(choice, { index: 'function_call', function: delta['function_call'] });
  }
  for (const key of Object.keys(delta)) {
    const value = delta[key];
    if (DELTA_SHOWN.has(key) || value === null || (Array.isArray(value) && value.length === 0)) continue;
    choice.more ??= {};
    choice.more[key === '__proto__' ? '["__proto__"]' : key] = value as Json;
  }
}

function addCall(choice: PendingChoice, source: JsonObject): void {
  const custom = isFilled(source['custom']);
  const fn = objectOf(custom ? source['custom'] : source['function']);
  const id = filledOf(source['id']);
  const name = filledOf(fn['name']);
  const index = source['index'];
  let call = findCall(choice.calls, index, id, name);
  if (!call) {
    call = { index, name: '', arguments: '', type: custom ? 'custom' : 'function' };
    choice.calls.push(call);
  }
  if (id !== undefined) call.id = id;
  if (name !== undefined) call.name = name;
  const type = filledOf(source['type']);
  if (type !== undefined) call.type = type;
  const args = fn['arguments'] ?? fn['input'];
  if (args !== undefined && args !== null) call.arguments += textOrJson(args);
}

/** The call that a piece belongs to; undefined when it begins a new one. */
function findCall(
  calls: PendingCall[],
  index: Json | undefined,
  id: string | undefined,
  name: string | undefined,
): PendingCall | undefined {
  if (index === undefined || index === null) {
    const same = id === undefined ? undefined : calls.find((call) => call.id === id);
    return same ?? (id === undefined && name === undefined ? calls.at(-1) : undefined);
  }
  const same = calls.findLast((call) => call.index === index);
  // Some servers give every call the index 0: another id with a name of its own is another call.
  const other = same?.id !== undefined && id !== undefined && same.id !== id && name !== undefined;
  return other ? calls.find((call) => call.id === id) : same;
}

function finish(choice: PendingChoice): ResponseView['choices'][number] {
  const message: Message = { role: choice.role };
  const { content } = choice;
  // Deltas are pieces of one text, whatever the role.
  if (content.text.length > 0) content.text = [content.text.join('')];
  if (content.text[0] === '' && choice.calls.length > 0) content.text = [];
  fillContent(message, content);
  if (choice.calls.length > 0) message.toolCalls = choice.calls.map(({ index: _index, ...call }) => call);
  if (choice.more) message.raw = choice.more;
  return {
    index: choice.index,
    ...(choice.finishReason === undefined ? {} : { finishReason: stringOf(choice.finishReason) as string }),
    message,
  };
}
