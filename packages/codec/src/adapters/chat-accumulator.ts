/**
 * Assembles the chunks of a chat completion stream into the object that the official SDK's own accumulator gives
 * (openai-node, `ChatCompletionStream`), quirks included: members it does not know are overwritten by the last chunk
 * that has them, and content that is no string is concatenated as one. {@link ChatViewBuilder} reads the same chunks
 * for people.
 */
import type { Json, JsonObject } from '@orangebox/schema';
import { assignMembers, filledOf, isObject, objectOf, objectsOf, parseJson, stringOf } from './json.ts';

const CHOICE_KNOWN = new Set(['delta', 'finish_reason', 'index', 'logprobs', 'message']);
const DELTA_KNOWN = new Set(['audio', 'content', 'refusal', 'function_call', 'role', 'tool_calls']);
const CALL_KNOWN = new Set(['index', 'id', 'type', 'function']);
/** A hostile chunk may name any index; arrays are not grown for it. */
const INDEX_MAX = 4096;

interface Choice {
  finishReason: Json;
  index: Json;
  message: JsonObject;
  logprobs: Json;
  other: JsonObject;
  audioDone: boolean;
}

/** Accumulator of one stream. */
export class ChatAccumulator {
  #head: JsonObject | undefined;
  readonly #choices: (Choice | undefined)[] = [];

  /** Takes the next chunk. */
  add(chunk: JsonObject): void {
    const { choices, ...rest } = chunk;
    if (this.#head === undefined) this.#head = rest;
    else if (chunk['id']) assignMembers(this.#head, rest);
    for (const choice of objectsOf(choices)) this.#addChoice(choice);
  }

  #addChoice(source: JsonObject): void {
    const index = source['index'] ?? 0;
    const at = typeof index === 'number' && index >= 0 && index < INDEX_MAX ? Math.floor(index) : 0;
    const logprobs = source['logprobs'] ?? null;
    let choice = this.#choices[at];
    if (!choice) {
      choice = {
        finishReason: source['finish_reason'] ?? null,
        index,
        message: {},
        logprobs: isObject(logprobs) ? { ...logprobs } : logprobs,
        other: {},
        audioDone: false,
      };
      this.#choices[at] = choice;
    } else if (isObject(logprobs)) addLogprobs(choice, logprobs);
    if (source['finish_reason']) choice.finishReason = source['finish_reason'];
    assignMembers(choice.other, source, CHOICE_KNOWN);
    // Servers that send the message so far beside each delta: it replaces what was assembled, then the delta is added.
    if (isObject(source['message'])) choice.message = { ...source['message'] };
    if (isObject(source['delta'])) addDelta(choice, source['delta']);
  }

  /** The final object; undefined when no chunk came. `params` is the request's body. */
  final(params: JsonObject | undefined): JsonObject | undefined {
    if (this.#head === undefined) return undefined;
    const { id, created, model, system_fingerprint: fingerprint, ...rest } = this.#head;
    const parse = parserOf(params);
    const choices: Json[] = [];
    for (const choice of this.#choices) if (choice) choices.push(finalChoice(choice, parse));
    return {
      ...rest,
      ...(id === undefined ? {} : { id }),
      choices,
      ...(created === undefined ? {} : { created }),
      ...(model === undefined ? {} : { model }),
      object: 'chat.completion',
      ...(fingerprint ? { system_fingerprint: fingerprint } : {}),
    };
  }
}

function addLogprobs(choice: Choice, logprobs: JsonObject): void {
  if (!isObject(choice.logprobs)) {
    choice.logprobs = { ...logprobs };
    return;
  }
  const target = choice.logprobs;
  assignMembers(target, logprobs, new Set(['content', 'refusal']));
  for (const key of ['content', 'refusal']) {
    const more = logprobs[key];
    if (!Array.isArray(more)) continue;
    const known = target[key];
    // A new array: the first one belongs to the chunk.
    target[key] = Array.isArray(known) ? known.concat(more) : [...more];
  }
}

function addDelta(choice: Choice, delta: JsonObject): void {
  const { message } = choice;
  assignMembers(message, delta, DELTA_KNOWN);
  const { audio, content, refusal, role } = delta;
  choice.audioDone =
    isObject(audio) &&
    audio['expires_at'] !== undefined &&
    Object.keys(audio).length === 1 &&
    !content &&
    !role &&
    !delta['tool_calls'];
  if (refusal) message['refusal'] = (stringOf(message['refusal']) ?? '') + asText(refusal);
  if (role) message['role'] = role;
  if (isObject(audio)) addAudio(message, audio);
  if (isObject(delta['function_call'])) addFunctionCall(message, delta['function_call']);
  if (content) message['content'] = (stringOf(message['content']) ?? '') + asText(content);
  if (Array.isArray(delta['tool_calls'])) addToolCalls(message, objectsOf(delta['tool_calls']));
}

/** What JavaScript's `+` makes of a value that should have been a string. */
function asText(value: Json): string {
  return typeof value === 'string' ? value : String(value);
}

function addAudio(message: JsonObject, audio: JsonObject): void {
  const target = isObject(message['audio']) ? message['audio'] : {};
  message['audio'] = target;
  for (const key of ['id', 'expires_at']) {
    const value = audio[key];
    if (value !== null && value !== undefined) target[key] = value;
  }
  for (const key of ['data', 'transcript']) {
    const value = stringOf(audio[key]);
    if (value !== undefined) target[key] = (stringOf(target[key]) ?? '') + value;
  }
}

function addFunctionCall(message: JsonObject, call: JsonObject): void {
  const known = message['function_call'];
  if (!isObject(known)) {
    message['function_call'] = { ...call };
    return;
  }
  if (call['name']) known['name'] = call['name'];
  if (call['arguments']) known['arguments'] = (stringOf(known['arguments']) ?? '') + asText(call['arguments']);
}

function addToolCalls(message: JsonObject, calls: JsonObject[]): void {
  const list = Array.isArray(message['tool_calls']) ? message['tool_calls'] : [];
  message['tool_calls'] = list;
  for (const call of calls) {
    const index = call['index'];
    // The SDK hangs a call without an index on the array as a property, which its final object does not show.
    if (typeof index !== 'number' || index < 0 || index >= INDEX_MAX || !Number.isInteger(index)) continue;
    while (list.length < index) list.push(null);
    const known = list[index];
    const target = isObject(known) ? known : {};
    list[index] = target;
    assignMembers(target, call, CALL_KNOWN);
    if (call['id']) target['id'] = call['id'];
    if (call['type']) target['type'] = call['type'];
    const fn = call['function'];
    if (!isObject(fn)) continue;
    const own = isObject(target['function']) ? target['function'] : { name: fn['name'] ?? '', arguments: '' };
    target['function'] = own;
    if (fn['name']) own['name'] = fn['name'];
    if (fn['arguments']) own['arguments'] = (stringOf(own['arguments']) ?? '') + asText(fn['arguments']);
  }
}

/** What the SDK parses: JSON answers and strict tools' arguments, where a strict tool is on offer. */
interface Parser {
  content(text: string): Json;
  arguments(name: Json | undefined, text: Json | undefined): Json;
}

function parserOf(params: JsonObject | undefined): Parser | undefined {
  const tools = objectsOf(params?.['tools']);
  const strict = (tool: JsonObject): boolean => objectOf(tool['function'])['strict'] === true;
  if (!tools.some((tool) => tool['type'] === 'function' && strict(tool))) return undefined;
  const structured = objectOf(params?.['response_format'])['type'] === 'json_schema';
  return {
    content: (text) => (structured ? (parseJson(text) ?? null) : null),
    arguments: (name, text) => {
      const tool = tools.find((candidate) => objectOf(candidate['function'])['name'] === name);
      return tool && strict(tool) ? (parseJson(stringOf(text)) ?? null) : null;
    },
  };
}

function finalChoice(choice: Choice, parse: Parser | undefined): JsonObject {
  const { message } = choice;
  const finish = choice.finishReason ?? (choice.audioDone && isObject(message['audio']) ? 'stop' : null);
  return {
    ...choice.other,
    index: choice.index,
    finish_reason: finish,
    logprobs: choice.logprobs,
    message: finalMessage(message, parse),
  };
}

function finalMessage(message: JsonObject, parse: Parser | undefined): JsonObject {
  const { content = null, function_call: call, tool_calls: calls, audio, ...rest } = message;
  const refusal = message['refusal'] ?? null;
  const text = filledOf(content);
  const parsed = parse && text !== undefined && !refusal ? parse.content(text) : null;
  const head = { ...(audio ? { audio } : {}), content, refusal, parsed };
  if (isObject(call)) {
    const { arguments: args = '', name = '' } = call;
    return { ...head, role: message['role'] ?? 'assistant', function_call: { arguments: args, name } };
  }
  const out: JsonObject = { ...rest, ...head, role: message['role'] ?? 'assistant' };
  if (Array.isArray(calls))
    out['tool_calls'] = calls.map((entry) => (isObject(entry) ? finalToolCall(entry, parse) : null));
  return out;
}

function finalToolCall(call: JsonObject, parse: Parser | undefined): JsonObject {
  const fn = objectOf(call['function']);
  const name = fn['name'];
  return {
    ...call,
    function: parse ? { ...fn, parsed_arguments: parse.arguments(name, fn['arguments']) } : fn,
  };
}
