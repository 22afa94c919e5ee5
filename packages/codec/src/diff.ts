/**
 * Compares two calls by what they mean: tool names and arguments first, then structure, then text. Ids, times,
 * fingerprints, token counts, reasoning and the cut into chunks make no difference.
 */
import type {
  CallView,
  Json,
  Message,
  RequestView,
  ResponseView,
  Snapshot,
  ToolCall,
  ToolExecution,
} from '@orangebox/schema';
import type { Described } from './adapters/described.ts';
import { describeCall } from './adapters/index.ts';
import type { ContentDecoder } from './adapters/input.ts';
import { isObject, objectsOf, parseJson } from './adapters/json.ts';
import { embeddingVector } from './adapters/openai-embeddings.ts';
import { canonicalArguments } from './conversation-atoms.ts';
import { diffJson } from './diff-json.ts';

/** What kind of thing differs, weightiest first. */
export type DifferenceRank = 'tools' | 'structure' | 'text';

/** One place at which two calls differ. Absent values are undefined. */
export interface Difference {
  /** Path in the parsed view, e.g. `response.choices[0].message.text`. */
  path: string;
  left: Json | undefined;
  right: Json | undefined;
  rank: DifferenceRank;
}

/** Outcome of a comparison; the differences stand in the order of their rank. */
export interface Comparison {
  /**
   * `identical`: nothing differs but what is new each time (ids, times, fingerprints). `equivalent`: same tools,
   * arguments and structure, other words. `different`: all else.
   */
  verdict: 'identical' | 'equivalent' | 'different';
  differences: Difference[];
}

const RANKS: DifferenceRank[] = ['tools', 'structure', 'text'];

/** Vectors of one text differ a little from call to call. */
const EMBEDDING_TOLERANCE = 1e-3;

/** Members of an answer that are new each time, or follow from what is compared elsewhere. */
const VOLATILE = new Set([
  'id', 'call_id', 'item_id', 'created', 'created_at', 'completed_at', 'system_fingerprint', 'usage', 'x_groq',
  'service_tier', 'request_id', 'output_text', 'parsed', 'output_parsed', 'parsed_arguments', 'encrypted_content',
  'logprobs', 'obfuscation', 'safety_identifier', 'prompt_cache_key', 'user', 'time_info', 'billing', 'signature',
  'reasoning_details', 'thinking', 'thoughtSignature', 'thought_signature', 'responseId', 'usageMetadata', 'createTime',
  'total_duration', 'load_duration', 'prompt_eval_duration', 'eval_duration', 'prompt_eval_count', 'eval_count',
  'metrics', 'meta',
]); // biome-ignore format: a plain list

/** Members that the view compares. */
const COVERED = new Set([
  'content', 'text', 'arguments', 'input', 'name', 'role', 'finish_reason', 'status', 'refusal', 'reasoning',
  'reasoning_content', 'summary', 'tool_calls', 'function_call', 'function', 'choices', 'output', 'model', 'error',
  'data', 'embedding', 'message', 'type', 'index', 'previous_response_id',
]); // biome-ignore format: a plain list

/** Compares two snapshots of calls. `decode` undoes content encodings. */
export function compareSnapshots(left: Snapshot, right: Snapshot, decode: ContentDecoder): Comparison {
  const a = describeCall(left, decode);
  const b = describeCall(right, decode);
  const differences: Difference[] = [];
  compareRuns(left.tool, right.tool, differences);
  compareEnds(left, right, differences);
  compareRequests(a, b, differences);
  compareResponses(a.response, b.response, differences);
  differences.sort((x, y) => RANKS.indexOf(x.rank) - RANKS.indexOf(y.rank));
  const wording = differences.every((difference) => difference.rank === 'text');
  const verdict = differences.length === 0 ? 'identical' : wording ? 'equivalent' : 'different';
  return { verdict, differences };
}

type Value = Json | undefined;

function note(out: Difference[], path: string, left: Value, right: Value, rank: DifferenceRank): void {
  for (const found of diffJson(left, right, path)) out.push({ ...found, rank });
}

/** Two tool executions, or one and a call. */
function compareRuns(a: ToolExecution | undefined, b: ToolExecution | undefined, out: Difference[]): void {
  note(out, 'tool.name', a?.name, b?.name, 'tools');
  if (a === undefined || b === undefined) return;
  compareArguments(a.arguments ?? '', b.arguments ?? '', 'tool.arguments', out);
  note(out, 'tool.error', failureOf(a), failureOf(b), 'structure');
  compareText(a.result, b.result, 'tool.result', out);
}

function failureOf(run: ToolExecution): Value {
  return run.error === undefined ? undefined : `${run.error.type}: ${run.error.message}`;
}

function compareEnds(left: Snapshot, right: Snapshot, out: Difference[]): void {
  const a = left.exchanges.at(-1);
  const b = right.exchanges.at(-1);
  note(out, 'response.status', a?.response?.status, b?.response?.status, 'structure');
  note(out, 'ending', a?.ending, b?.ending, 'structure');
}

function compareRequests(a: Described, b: Described, out: Difference[]): void {
  note(out, 'call.api', a.call.api, b.call.api, 'structure');
  note(out, 'call.requestModel', a.call.requestModel, b.call.requestModel, 'structure');
  note(out, 'call.stream', a.call.stream, b.call.stream, 'structure');
  compareParameters(a.call, b.call, out);
  note(out, 'request.tools', a.request.tools, b.request.tools, 'tools');
  compareMessages(a.request, b.request, out);
}

function compareParameters(a: CallView, b: CallView, out: Difference[]): void {
  for (const found of diffJson(a.parameters, b.parameters, 'call.parameters')) {
    if (found.path !== 'call.parameters.user') out.push({ ...found, rank: 'structure' });
  }
}

function compareMessages(a: RequestView, b: RequestView, out: Difference[]): void {
  const path = 'request.messages';
  note(out, `${path}.length`, a.messages.length, b.messages.length, 'structure');
  for (let i = 0; i < Math.min(a.messages.length, b.messages.length); i++) {
    const [left, right] = [a.messages[i], b.messages[i]];
    if (left && right) compareMessage(left, right, `${path}[${i}]`, out);
  }
}

function compareMessage(a: Message, b: Message, path: string, out: Difference[]): void {
  compareToolCalls(a.toolCalls ?? [], b.toolCalls ?? [], path, out);
  note(out, `${path}.role`, a.role, b.role, 'structure');
  note(out, `${path}.attachments`, a.attachments, b.attachments, 'structure');
  note(
    out,
    `${path}.refusal`,
    a.refusal,
    b.refusal,
    a.refusal === undefined || b.refusal === undefined ? 'structure' : 'text',
  );
  compareText(a.text, b.text, `${path}.text`, out);
  compareText(a.toolResult?.content, b.toolResult?.content, `${path}.toolResult.content`, out);
}

function compareToolCalls(a: ToolCall[], b: ToolCall[], path: string, out: Difference[]): void {
  note(out, `${path}.toolCalls.length`, a.length, b.length, 'tools');
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const [left, right] = [a[i], b[i]];
    if (!left || !right) continue;
    const at = `${path}.toolCalls[${i}]`;
    note(out, `${at}.name`, left.name, right.name, 'tools');
    compareArguments(left.arguments, right.arguments, `${at}.arguments`, out);
  }
}

function compareArguments(left: string, right: string, path: string, out: Difference[]): void {
  if (left === right) return;
  if (canonicalArguments(left) === canonicalArguments(right)) return;
  const [a, b] = [parseJson(left), parseJson(right)];
  if (a !== undefined && b !== undefined) note(out, path, a, b, 'tools');
  else out.push({ path, left, right, rank: 'tools' });
}

/** Texts that are JSON on both sides are compared as such: other members are structure, other values text. */
function compareText(left: string | undefined, right: string | undefined, path: string, out: Difference[]): void {
  if (left === right) return;
  const [a, b] = [parseJson(left), parseJson(right)];
  const bothJson = (isObject(a) && isObject(b)) || (Array.isArray(a) && Array.isArray(b));
  if (!bothJson) {
    const gone = (left ?? '') === '' || (right ?? '') === '';
    out.push({ path, left, right, rank: gone ? 'structure' : 'text' });
    return;
  }
  const found = diffJson(a, b, path);
  for (const difference of found) {
    const sameKind = kindOf(difference.left) === kindOf(difference.right);
    out.push({ ...difference, rank: sameKind ? 'text' : 'structure' });
  }
}

function kindOf(value: Value): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function compareResponses(a: ResponseView, b: ResponseView, out: Difference[]): void {
  const path = 'response.choices';
  note(out, `${path}.length`, a.choices.length, b.choices.length, 'structure');
  for (let i = 0; i < Math.min(a.choices.length, b.choices.length); i++) {
    const [left, right] = [a.choices[i], b.choices[i]];
    if (!left || !right) continue;
    compareMessage(left.message, right.message, `${path}[${i}].message`, out);
    note(out, `${path}[${i}].finishReason`, left.finishReason, right.finishReason, 'structure');
  }
  note(out, 'response.model', a.model, b.model, 'structure');
  note(out, 'response.error.type', a.error?.type, b.error?.type, 'structure');
  note(out, 'response.error.code', a.error?.code, b.error?.code, 'structure');
  note(out, 'response.error.message', a.error?.message, b.error?.message, 'text');
  compareEmbeddings(a, b, out);
  compareRest(a, b, out);
}

function compareEmbeddings(a: ResponseView, b: ResponseView, out: Difference[]): void {
  note(
    out,
    'response.embeddings',
    a.embeddings && { ...a.embeddings },
    b.embeddings && { ...b.embeddings },
    'structure',
  );
  if (!a.embeddings || !b.embeddings || !isObject(a.final) || !isObject(b.final)) return;
  const [left, right] = [objectsOf(a.final['data']), objectsOf(b.final['data'])];
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const distance = farthest(embeddingVector(left[i]?.['embedding']), embeddingVector(right[i]?.['embedding']));
    if (distance <= EMBEDDING_TOLERANCE) continue;
    // The largest distance of any two components says more than a thousand numbers.
    out.push({ path: `response.embeddings[${i}]`, left: 0, right: distance, rank: 'text' });
  }
}

function farthest(a: number[], b: number[]): number {
  let distance = 0;
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    distance = Math.max(distance, Math.abs((a[i] ?? 0) - (b[i] ?? 0)));
  }
  return distance;
}

/** What the view does not show: annotations, safety ratings, members no adapter knows. */
function compareRest(a: ResponseView, b: ResponseView, out: Difference[]): void {
  const shown = a.choices.length > 0 || b.choices.length > 0 || a.embeddings !== undefined || a.error !== undefined;
  for (const found of diffJson(a.final, b.final, 'response.final')) {
    const names = found.path
      .replace(/\[\d+\]/g, '')
      .split('.')
      .slice(2);
    if (names.some((name) => VOLATILE.has(name))) continue;
    if (!shown || !COVERED.has(names.at(-1) ?? '')) out.push({ ...found, rank: 'structure' });
  }
}
