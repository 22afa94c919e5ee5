/** What a request changes on the server besides answering. What is not known to be harmless counts as an effect. */
import { headerOf } from '@orangebox/codec';
import { decodeContent } from '@orangebox/store';
import type { ExchangeRequest, Json, JsonObject } from '@orangebox/schema';
import { hasDuplicateMembers } from './duplicate-members.ts';

/** Effects of a request. */
export interface Effects {
  /** Refused unless allowed. */
  refused: string[];
  /** Said, but not refused: the provider's own default. */
  implied: string[];
}

/** Operations that only compute an answer, by the end of their path. */
const HARMLESS_PATH =
  /(?:\/chat\/completions|\/completions|\/embeddings|\/responses|\/messages|\/messages\/count_tokens|\/moderations|\/complete|\/rerank|\/embed|\/v[12]\/chat|\/images\/generations|\/audio\/(?:speech|transcriptions|translations)|:(?:generateContent|streamGenerateContent|countTokens|embedContent|batchEmbedContents)|\/api\/(?:chat|generate|embed|embeddings|show))$/;

/** Tools that run in the program or only read; every other type runs on the server. */
const HARMLESS_TOOL =
  /^(?:function|custom|web_search\w*|file_search|tool_search\w*|image_generation|local_shell|apply_patch|computer\w*|bash_\d+|text_editor_\d+|memory_\d+|google_search\w*|googleSearch\w*|function_?declarations|functionDeclarations|namespace)$/;

/** The effects of a recorded request whose body is `body`. */
export function effectsOf(request: ExchangeRequest, url: URL, body: Uint8Array): Effects {
  const effects: Effects = { refused: [], implied: [] };
  const method = request.method.toUpperCase();
  if (method === 'GET' || method === 'HEAD') return effects;
  const path = url.pathname.replace(/\/$/, '');
  if (method !== 'POST' || !HARMLESS_PATH.test(path)) {
    effects.refused.push(`${method} ${path} is no operation that only answers`);
    return effects;
  }
  const type = headerOf(request.headers, 'content-type') ?? '';
  if (/^multipart\/form-data/i.test(type) && /\/audio\//.test(path)) return effects;
  const json = parse(request, body);
  if (!json) {
    effects.refused.push('the body cannot be read, so nobody knows what it does');
    return effects;
  }
  bodyEffects(json, /\/responses$/.test(path), effects);
  return effects;
}

function parse(request: ExchangeRequest, body: Uint8Array): JsonObject | undefined {
  const encoding = headerOf(request.headers, 'content-encoding');
  const bytes = encoding === undefined ? body : decodeContent(encoding, body);
  if (!bytes) return undefined;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    // Two members of one name are read differently by different servers: what we check may not be what they do.
    return hasDuplicateMembers(text) ? undefined : (value as JsonObject);
  } catch {
    return undefined;
  }
}

function isSet(value: Json | undefined): boolean {
  return value !== undefined && value !== null && value !== false && !(Array.isArray(value) && value.length === 0);
}

function bodyEffects(json: JsonObject, isResponses: boolean, effects: Effects): void {
  const { refused } = effects;
  if (isSet(json['conversation'])) refused.push('conversation: the answer is added to a conversation on the server');
  if (isSet(json['background'])) refused.push('background: the answer is made in the background');
  if (isSet(json['store'])) refused.push('store: the provider keeps the answer');
  else if (isResponses && json['store'] !== false) {
    effects.implied.push('store: the provider keeps the answer, as is its default');
  }
  for (const name of ['mcp_servers', 'container', 'code_execution', 'connectors', 'plugins']) {
    if (isSet(json[name])) refused.push(`${name}: runs on the server`);
  }
  if (isSet(json['prompt']) && typeof json['prompt'] === 'object' && isResponses) {
    refused.push('prompt: a prompt kept on the server may bring tools that run there');
  }
  for (const type of toolTypes(json)) {
    if (!HARMLESS_TOOL.test(type)) refused.push(`tool ${JSON.stringify(type.slice(0, 40))}: runs on the server`);
  }
}

/** Types of the offered tools; Gemini names them by member. */
function toolTypes(json: JsonObject): Set<string> {
  const types = new Set<string>();
  const tools = json['tools'];
  if (tools !== undefined && tools !== null && !Array.isArray(tools)) types.add('unknown');
  for (const tool of Array.isArray(tools) ? tools : []) {
    if (typeof tool !== 'object' || tool === null || Array.isArray(tool)) {
      types.add('unknown');
      continue;
    }
    if (typeof tool['type'] === 'string') types.add(tool['type']);
    // Anthropic's own functions have a name and no type; Gemini's tools have one member each.
    else if (typeof tool['name'] === 'string') types.add('function');
    else for (const name of Object.keys(tool)) types.add(name);
  }
  return types;
}
