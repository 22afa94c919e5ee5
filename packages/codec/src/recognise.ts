/**
 * Which HTTP requests are LLM calls. Decided by protocol (method, path shape, content type, body shape), not by host
 * name, so that gateways and self-hosted servers are recognised. This file is bundled into the preload and looked at
 * for every request of a program: it imports nothing and parses nothing.
 */

/** `llm`: the path alone says so. `maybe`: {@link confirmBody} on the first body bytes decides. */
export type Recognition = 'llm' | 'maybe' | 'no';

const VERSION_SEGMENT = /^v\d/;
/** Clients that speak to models only; lets an ambiguous path count before a body byte is seen. */
const LLM_CLIENT = /\b(?:openai|anthropic|ai-sdk|ollama-js|cohere|mistral|langchain|google-genai)/i;

/** Last path segments (as sent) and what they mean; `parent` is the segment before. */
const BY_LAST_SEGMENT: { [segment: string]: (parent: string, path: string) => Recognition } = {
  // OpenAI and everything that follows it
  completions: (parent, path) => {
    if (parent === 'chat' || parent === 'fim' || parent === 'agents') return 'llm';
    if (/\/(?:deployments|engines|prompts)\/[^/]+\/completions$/.test(path)) return 'llm';
    return VERSION_SEGMENT.test(parent) ? 'llm' : 'maybe';
  },
  embeddings: (parent, path) => (VERSION_SEGMENT.test(parent) || path.includes('/deployments/') ? 'llm' : 'maybe'),
  // `/v1/responses` is also what a survey service would call its answers, `/v1/messages` a mail service its mails.
  responses: (parent) => (parent === 'openai' ? 'llm' : 'maybe'),
  compact: (parent) => (parent === 'responses' ? 'maybe' : 'no'),
  messages: (parent) => (VERSION_SEGMENT.test(parent) || parent === 'anthropic' ? 'maybe' : 'no'),
  moderations: () => 'maybe',
  generations: (parent) => (parent === 'images' ? 'llm' : 'no'),
  edits: (parent) => (parent === 'images' ? 'llm' : 'no'),
  variations: (parent) => (parent === 'images' ? 'llm' : 'no'),
  speech: (parent) => (parent === 'audio' ? 'llm' : 'no'),
  transcriptions: (parent) => (parent === 'audio' ? 'llm' : 'no'),
  translations: (parent) => (parent === 'audio' ? 'llm' : 'no'),
  // Bedrock
  converse: (_parent, path) => bedrock(path),
  'converse-stream': (_parent, path) => bedrock(path),
  invoke: (_parent, path) => bedrock(path),
  'invoke-with-response-stream': (_parent, path) => bedrock(path),
  // Cohere, Ollama, Mistral, Writer, Voyage, Jina, TGI, TEI, llama.cpp, watsonx, Gemini interactions, SageMaker, ...
  chat: () => 'maybe',
  chat_stream: () => 'maybe',
  generate: () => 'maybe',
  generate_stream: () => 'maybe',
  complete: () => 'maybe',
  completion: () => 'maybe',
  infill: () => 'maybe',
  embed: () => 'maybe',
  rerank: () => 'maybe',
  classify: () => 'maybe',
  conversations: () => 'maybe',
  interactions: () => 'maybe',
  ocr: () => 'maybe',
  predictions: () => 'maybe',
  invocations: () => 'maybe',
  generation: (parent) => (parent === 'text' || parent.endsWith('-generation') ? 'maybe' : 'no'),
  generation_stream: () => 'maybe',
  text: (parent) => (parent === 'generation' ? 'maybe' : 'no'),
};

/** Methods after a colon in the last segment (Google APIs). */
const GOOGLE_LLM = new Set([
  'generateContent',
  'streamGenerateContent',
  'embedContent',
  'batchEmbedContents',
  'generateAnswer',
  'rawPredict',
  'streamRawPredict',
]);

function bedrock(path: string): Recognition {
  return /\/model\/[^/]+\/[^/]+$/.test(path) ? 'llm' : 'no';
}

function googleMethod(name: string, path: string): Recognition {
  if (GOOGLE_LLM.has(name)) return 'llm';
  const ofPublisher = path.includes('/publishers/');
  return ofPublisher && (name === 'predict' || name === 'predictLongRunning') ? 'llm' : 'no';
}

function pathOf(url: string): string {
  let start = 0;
  const scheme = url.indexOf('://');
  if (scheme > 0 && scheme < 12) {
    const slash = url.indexOf('/', scheme + 3);
    start = slash < 0 ? url.length : slash;
  }
  let end = url.length;
  for (let i = start; i < end; i++) {
    const c = url.charCodeAt(i);
    if (c === 0x3f || c === 0x23) end = i; // ? and #
  }
  while (end > start && url.charCodeAt(end - 1) === 0x2f) end--;
  return url.slice(start, end);
}

function isMultipart(contentType: string | undefined): boolean {
  return contentType !== undefined && /^multipart\/form-data/i.test(contentType);
}

/** No content type counts as JSON: hand-written clients often send none. */
function mayBeJson(contentType: string | undefined): boolean {
  return !contentType || /json|^text\/plain/i.test(contentType);
}

/**
 * Tells from its head whether a request is an LLM call. `url` may be absolute or a path, with or without query.
 * `userAgent`, where the caller has it, makes an ambiguous path of a known model client count at once, so that such a
 * request is recorded even if the connection fails before the first body byte.
 */
export function recogniseRequest(method: string, url: string, contentType?: string, userAgent?: string): Recognition {
  if (method === 'GET') {
    // The answer of a background response comes by polling it.
    return /\/responses\/resp_[^/?#]+(?:[?#]|$)/.test(url) ? 'llm' : 'no';
  }
  if (method !== 'POST') return 'no';
  const path = pathOf(url);
  const slash = path.lastIndexOf('/');
  let last = path.slice(slash + 1);
  if (last.includes('%3')) last = last.replace(/%3a/gi, ':');
  const colon = last.lastIndexOf(':');
  if (colon > 0) return googleMethod(last.slice(colon + 1), path);
  const rule = Object.hasOwn(BY_LAST_SEGMENT, last) ? BY_LAST_SEGMENT[last] : undefined;
  const parent = path.slice(path.lastIndexOf('/', slash - 1) + 1, slash < 0 ? 0 : slash);
  if (rule === undefined) {
    return isHuggingFaceModel(path) && mayBeJson(contentType) ? 'maybe' : 'no';
  }
  const found = rule(parent, path);
  if (found !== 'maybe') return found;
  if (isMultipart(contentType) || !mayBeJson(contentType)) return 'no';
  return isStrongByHint(last, parent, url, userAgent) ? 'llm' : 'maybe';
}

function isHuggingFaceModel(path: string): boolean {
  return /(?:^|\/)models\/[^/]+\/[^/]+$/.test(path) && !path.includes('/api/');
}

function isStrongByHint(last: string, parent: string, url: string, userAgent: string | undefined): boolean {
  switch (last) {
    case 'responses':
    case 'moderations':
    case 'embeddings':
    case 'completions':
    case 'compact':
      return url.includes('openai') || isLlmClient(userAgent);
    case 'messages':
      return url.includes('anthropic') || (VERSION_SEGMENT.test(parent) && isLlmClient(userAgent));
    default:
      return false;
  }
}

function isLlmClient(userAgent: string | undefined): boolean {
  return userAgent !== undefined && LLM_CLIENT.test(userAgent);
}

/** Body bytes that {@link confirmBody} looks at, at most. */
export const CONFIRM_BODY_MAX_BYTES = 65_536;

/* Bits of the top-level keys that decide. */
const MODEL = 1;
const CONTENT = 2;
const MESSAGES = 4;
const CONTENTS = 8;
const PROMPT = 16;
const TUNING = 32;
const INPUTS = 64;
const PARAMETERS = 128;
const QUERY = 256;
const DOCUMENTS = 512;
const RPC = 1024;
const CHAINED = 2048;
const MESSAGE = 4096;
const VERSION = 8192;
const TEXTS = 16_384;

const KEY_BITS: { [key: string]: number } = {
  model: MODEL,
  model_id: MODEL,
  modelId: MODEL,
  agent: MODEL,
  agent_id: MODEL,
  version: VERSION,
  messages: MESSAGES,
  contents: CONTENTS,
  input: CONTENT,
  inputs: CONTENT | INPUTS,
  prompt: CONTENT | PROMPT,
  document: CONTENT,
  text_inputs: CONTENT,
  message: MESSAGE,
  texts: TEXTS | DOCUMENTS,
  documents: DOCUMENTS,
  query: QUERY,
  parameters: PARAMETERS,
  previous_response_id: CHAINED,
  conversation: CHAINED,
  jsonrpc: RPC,
  stream: TUNING,
  temperature: TUNING,
  max_tokens: TUNING,
  max_tokens_to_sample: TUNING,
  max_output_tokens: TUNING,
  n_predict: TUNING,
  top_p: TUNING,
  stop: TUNING,
  stop_sequences: TUNING,
  chat_history: TUNING,
  preamble: TUNING,
  input_type: TUNING,
  embedding_types: TUNING,
  truncate: TUNING,
  variables: TUNING,
};

/**
 * Tells from the first body bytes whether an ambiguous request is an LLM call: the keys of the JSON object's top level
 * are searched, nothing is parsed. The bytes may end anywhere.
 */
export function confirmBody(firstBytes: Uint8Array): boolean {
  const end = Math.min(firstBytes.length, CONFIRM_BODY_MAX_BYTES);
  let i = 0;
  if (firstBytes[0] === 0xef && firstBytes[1] === 0xbb && firstBytes[2] === 0xbf) i = 3;
  while (i < end && isSpace(firstBytes[i] as number)) i++;
  if (firstBytes[i] !== 0x7b) return false; // {
  let depth = 0;
  let seen = 0;
  let key = '';
  /** Inside the value of `messages` or `contents`: whether it looks like turns of a conversation. */
  let turns = false;
  for (; i < end; i++) {
    const c = firstBytes[i] as number;
    if (c === 0x22) {
      const close = stringEnd(firstBytes, i + 1, end);
      if (close - i <= 32 && isKey(firstBytes, close, end)) {
        const text = ascii(firstBytes, i + 1, close);
        if (depth === 1) {
          key = text;
          seen |= Object.hasOwn(KEY_BITS, text) ? (KEY_BITS[text] as number) : 0;
        } else if (depth === 3 && (text === 'role' || text === 'parts')) {
          turns ||= key === 'messages' || key === 'contents';
        }
      }
      i = close;
    } else if (c === 0x7b || c === 0x5b) depth++;
    else if (c === 0x7d || c === 0x5d) depth--;
  }
  // A long body may have its content before its model: what was cut off gets the benefit of the doubt.
  const isCutOff = depth > 0 && firstBytes.length >= CONFIRM_BODY_MAX_BYTES;
  return decide(isCutOff && (seen & (CONTENT | MESSAGES | CONTENTS)) !== 0 ? seen | MODEL : seen, turns);
}

function decide(seen: number, turns: boolean): boolean {
  const has = (bits: number): boolean => (seen & bits) !== 0;
  if (has(RPC)) return false;
  if (turns) return true;
  if (has(MODEL)) {
    return has(CONTENT | MESSAGES | CONTENTS | MESSAGE | CHAINED | TEXTS) || (has(QUERY) && has(DOCUMENTS));
  }
  if (has(VERSION) && has(CONTENT)) return true;
  if (has(INPUTS) && has(PARAMETERS)) return true;
  if (has(PROMPT) && has(TUNING)) return true;
  if (has(MESSAGE | TEXTS) && has(TUNING)) return true;
  return (has(QUERY) && has(DOCUMENTS)) || (has(CHAINED) && has(CONTENT));
}

function isSpace(c: number): boolean {
  return c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09;
}

/** Index of the closing quote, or `end`. */
function stringEnd(bytes: Uint8Array, from: number, end: number): number {
  for (let i = from; i < end; i++) {
    const c = bytes[i];
    if (c === 0x5c) i++;
    else if (c === 0x22) return i;
  }
  return end;
}

/** Whether the string that ends at `close` is followed by a colon. */
function isKey(bytes: Uint8Array, close: number, end: number): boolean {
  let i = close + 1;
  while (i < end && isSpace(bytes[i] as number)) i++;
  return i < end && bytes[i] === 0x3a;
}

function ascii(bytes: Uint8Array, from: number, to: number): string {
  let text = '';
  for (let i = from; i < to; i++) text += String.fromCharCode(bytes[i] as number);
  return text;
}
