/**
 * Assembles the events of a responses stream into the object that the official SDK's own accumulator gives
 * (openai-node, `accumulateResponse` and `ResponseStream`). Where the SDK throws (an event it does not know, one that
 * names an output that is not there) this one passes the event over and goes on.
 */
import type { Json, JsonObject } from '@orangebox/schema';
import { isObject, objectOf, objectsOf, parseJson, stringOf } from './json.ts';

const LIFECYCLE = new Set([
  'response.created',
  'response.queued',
  'response.in_progress',
  'response.completed',
  'response.failed',
  'response.incomplete',
]);

/** Tools whose progress events change the item's status. */
const STATUS_EVENT =
  /^response\.(code_interpreter_call|file_search_call|web_search_call|image_generation_call|mcp_call)\.(in_progress|interpreting|searching|generating|completed|failed)$/;

/** Pieces of a member of an output item: event prefix, item type, member. */
const ITEM_TEXT: { [event: string]: [type: string, member: string] } = {
  'response.function_call_arguments': ['function_call', 'arguments'],
  'response.custom_tool_call_input': ['custom_tool_call', 'input'],
  'response.mcp_call_arguments': ['mcp_call', 'arguments'],
  'response.code_interpreter_call_code': ['code_interpreter_call', 'code'],
};

/** Pieces of a member of a content part: event prefix, item type, list, part type, member. */
const PART_TEXT: { [event: string]: [type: string, list: string, part: string | undefined, member: string] } = {
  'response.output_text': ['message', 'content', 'output_text', 'text'],
  'response.refusal': ['message', 'content', 'refusal', 'refusal'],
  'response.reasoning_text': ['reasoning', 'content', 'reasoning_text', 'text'],
  'response.reasoning_summary_text': ['reasoning', 'summary', undefined, 'text'],
};

/** Accumulator of one stream. */
export class ResponsesAccumulator {
  #snapshot: JsonObject | undefined;

  /** Takes the next event. */
  add(event: JsonObject): void {
    const type = stringOf(event['type']) ?? '';
    if (LIFECYCLE.has(type)) {
      if (!isObject(event['response'])) return;
      this.#snapshot = event['response'];
      if (this.#snapshot['output_text'] === undefined || this.#snapshot['output_text'] === null) {
        this.#outputText();
      }
      return;
    }
    this.#snapshot ??= { output: [], output_text: '' };
    if (!Array.isArray(this.#snapshot['output'])) this.#snapshot['output'] = [];
    this.#change(type, event, this.#snapshot['output']);
  }

  #change(type: string, event: JsonObject, output: Json[]): void {
    if (type === 'response.output_item.added') {
      const item = event['item'] ?? null;
      output.push(item);
      if (objectOf(item)['type'] === 'message') this.#outputText();
      return;
    }
    const at = event['output_index'];
    const item = typeof at === 'number' ? output[at] : undefined;
    if (!isObject(item)) return;
    if (type === 'response.output_item.done') {
      if (!isObject(event['item'])) return;
      output[at as number] = event['item'];
      if (event['item']['type'] === 'message') this.#outputText();
      return;
    }
    const dot = type.lastIndexOf('.');
    const prefix = type.slice(0, dot);
    const verb = type.slice(dot + 1);
    if (Object.hasOwn(ITEM_TEXT, prefix)) changeItemText(item, event, verb, ITEM_TEXT[prefix] as [string, string]);
    else if (Object.hasOwn(PART_TEXT, prefix)) this.#partText(item, event, prefix, verb);
    else if (prefix === 'response.content_part') this.#contentPart(item, event, verb);
    else if (prefix === 'response.reasoning_summary_part') summaryPart(item, event, verb);
    else if (type === 'response.output_text.annotation.added') annotation(item, event);
    else {
      const status = STATUS_EVENT.exec(type);
      if (status && item['type'] === status[1]) item['status'] = status[2] as string;
    }
  }

  #partText(item: JsonObject, event: JsonObject, prefix: string, verb: string): void {
    const [itemType, list, partType, member] = PART_TEXT[prefix] as (typeof PART_TEXT)[string];
    if (item['type'] !== itemType) return;
    const index = event[list === 'summary' ? 'summary_index' : 'content_index'];
    const part = partAt(item[list], index);
    if (!part || (partType !== undefined && part['type'] !== partType)) return;
    if (verb === 'delta') {
      const delta = stringOf(event['delta']) ?? '';
      part[member] = (stringOf(part[member]) ?? '') + delta;
      if (prefix === 'response.output_text' && this.#snapshot) {
        this.#snapshot['output_text'] = (stringOf(this.#snapshot['output_text']) ?? '') + delta;
      }
    } else if (verb === 'done' && event[member] !== undefined) {
      part[member] = event[member];
      if (prefix === 'response.output_text') this.#outputText();
    }
  }

  #contentPart(item: JsonObject, event: JsonObject, verb: string): void {
    const part = event['part'];
    if (!isObject(part)) return;
    const reasoning = part['type'] === 'reasoning_text';
    if (reasoning ? item['type'] !== 'reasoning' : item['type'] !== 'message') return;
    const content = Array.isArray(item['content']) ? item['content'] : [];
    item['content'] = content;
    if (verb === 'added') content.push(part);
    else if (partAt(content, event['content_index'])) content[event['content_index'] as number] = part;
    else return;
    if (part['type'] === 'output_text') this.#outputText();
  }

  #outputText(): void {
    if (this.#snapshot) this.#snapshot['output_text'] = outputText(this.#snapshot);
  }

  /** The final object; undefined when no event came. `params` is the request's body. */
  final(params: JsonObject | undefined): JsonObject | undefined {
    return this.#snapshot === undefined ? undefined : parsedResponse(this.#snapshot, params);
  }
}

function changeItemText(item: JsonObject, event: JsonObject, verb: string, [type, member]: [string, string]): void {
  if (item['type'] !== type) return;
  if (verb === 'delta') item[member] = (stringOf(item[member]) ?? '') + (stringOf(event['delta']) ?? '');
  else if (verb === 'done' && event[member] !== undefined) item[member] = event[member];
}

function summaryPart(item: JsonObject, event: JsonObject, verb: string): void {
  const part = event['part'];
  if (item['type'] !== 'reasoning' || !isObject(part)) return;
  const summary = Array.isArray(item['summary']) ? item['summary'] : [];
  item['summary'] = summary;
  if (verb === 'added') summary.push(part);
  else if (partAt(summary, event['summary_index'])) summary[event['summary_index'] as number] = part;
}

const ANNOTATIONS_MAX = 65_536;

function annotation(item: JsonObject, event: JsonObject): void {
  if (item['type'] !== 'message') return;
  const part = partAt(item['content'], event['content_index']);
  const index = event['annotation_index'];
  if (part?.['type'] !== 'output_text' || typeof index !== 'number') return;
  const list = Array.isArray(part['annotations']) ? part['annotations'] : [];
  part['annotations'] = list;
  if (!Number.isInteger(index) || index < 0 || index > ANNOTATIONS_MAX) return;
  while (list.length < index) list.push(null);
  list[index] = event['annotation'] ?? null;
}

function partAt(list: Json | undefined, index: Json | undefined): JsonObject | undefined {
  const part = Array.isArray(list) && typeof index === 'number' ? list[index] : undefined;
  return isObject(part) ? part : undefined;
}

/** The texts of an answer's messages, joined, as the SDK's `output_text` has them. */
export function outputText(response: JsonObject): string {
  let text = '';
  for (const item of objectsOf(response['output'])) {
    if (item['type'] !== 'message') continue;
    for (const part of objectsOf(item['content'])) {
      if (part['type'] === 'output_text') text += stringOf(part['text']) ?? '';
    }
  }
  return text;
}

/** What the SDK's stream helper adds at the end: `parsed`, `parsed_arguments`, `output_parsed`. */
function parsedResponse(response: JsonObject, params: JsonObject | undefined): JsonObject {
  const tools = objectsOf(params?.['tools']);
  const parses = tools.some((tool) => tool['type'] === 'function' && tool['strict'] === true);
  const status = response['status'];
  const complete = parses && (!status || status === 'completed');
  const structured = complete && objectOf(objectOf(params?.['text'])['format'])['type'] === 'json_schema';
  let outputParsed: Json = null;
  const output = (Array.isArray(response['output']) ? response['output'] : []).map((item) => {
    if (!isObject(item)) return item;
    if (item['type'] === 'function_call') {
      const tool = complete
        ? tools.find((candidate) => candidate['type'] === 'function' && candidate['name'] === item['name'])
        : undefined;
      const parsed = tool?.['strict'] ? (parseJson(stringOf(item['arguments'])) ?? null) : null;
      return { ...item, parsed_arguments: parsed };
    }
    if (item['type'] !== 'message') return item;
    const content = objectsOf(item['content']).map((part) => {
      if (parses && part['type'] !== 'output_text') return part;
      const parsed = structured ? (parseJson(stringOf(part['text'])) ?? null) : null;
      if (outputParsed === null && parsed !== null) outputParsed = parsed;
      return { ...part, parsed };
    });
    return { ...item, content };
  });
  return { ...response, output, output_parsed: outputParsed };
}
