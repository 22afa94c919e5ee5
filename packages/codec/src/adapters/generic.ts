/** Adapter of every protocol that has none of its own yet: model, conversation and usage where a field says so. */
import { appendAll } from '../append-all.ts';
import type { CallView, Json, JsonObject, RequestView, ResponseView } from '@orangebox/schema';
import { isConversation } from '../conversation.ts';
import { anthropicMessages } from './anthropic.ts';
import { converseMessages } from './converse.ts';
import type { Described } from './described.ts';
import { fillGenericResponse } from './generic-response.ts';
import { geminiMessages } from './gemini.ts';
import type { AdapterInput } from './input.ts';
import { arrayOf, filledOf, isObject, objectOf, objectsOf, stringOf, textOrJson } from './json.ts';
import { emptyResponse, summariseChoices } from './message.ts';
import { decodeSegment } from './openai-call.ts';
import { chatMessage } from './openai-chat.ts';
import { embeddingInputs, INPUT_ROLE } from './openai-embeddings.ts';
import { addParameters, readParameters } from './parameters.ts';
import { providerOf } from './provider.ts';

/** What kind of body a request has. */
type Shape = 'anthropic' | 'gemini' | 'converse' | 'messages' | 'embeddings' | 'other';

const APART = new Set([
  'model', 'model_id', 'modelId', 'messages', 'contents', 'system', 'systemInstruction', 'system_instruction', 'tools',
  'toolConfig', 'input', 'inputs', 'prompt', 'message', 'inputText', 'texts', 'query', 'documents', 'document',
  'instances', 'chat_history', 'stream', 'requests', 'generationConfig', 'generation_config', 'inferenceConfig',
  'options', 'textGenerationConfig', 'parameters', 'tool_results', 'content', 'instructions', 'file', 'image', 'mask',
]); // biome-ignore format: a plain list

const NESTED_PARAMETERS = [
  'generationConfig',
  'generation_config',
  'inferenceConfig',
  'options',
  'textGenerationConfig',
  'parameters',
];

/** Views of any exchange, as far as its bodies have a known shape. */
export function describeGeneric(input: AdapterInput): Described {
  const shape = shapeOf(input);
  const body = input.request;
  const response = emptyResponse();
  if (input.exchange.response) fillGenericResponse(response, input);
  summariseChoices(response);
  const call = genericCall(input, shape, response);
  return { call, request: genericRequest(body, shape, isConversation(call)), response };
}

function shapeOf({ path, request: body }: AdapterInput): Shape {
  if (/\/converse(?:-stream)?$/.test(path) || isConverseBody(body)) return 'converse';
  if (body?.['contents'] !== undefined) return 'gemini';
  if (/\/embed(?:dings)?$|:(?:embedContent|batchEmbedContents)$/.test(path)) return 'embeddings';
  if (!Array.isArray(body?.['messages'])) return 'other';
  const claude = body['anthropic_version'] !== undefined || /\/messages$/.test(path);
  return claude ? 'anthropic' : 'messages';
}

/** Nova takes converse bodies through `invoke`. */
function isConverseBody(body: JsonObject | undefined): boolean {
  const first = objectsOf(body?.['messages'])[0];
  const block = objectsOf(first?.['content'])[0];
  return block !== undefined && block['type'] === undefined && (block['text'] ?? block['image']) !== undefined;
}

function genericCall(input: AdapterInput, shape: Shape, response: ResponseView): CallView {
  const { path, host, request: body } = input;
  const requestModel = modelOf(body) ?? modelInPath(path);
  const parameters = readParameters(body, APART, outputType(path));
  for (const name of NESTED_PARAMETERS) if (isObject(body?.[name])) addParameters(parameters, body[name]);
  return {
    operation: operationOf(path, shape, response),
    provider: providerOf(host, path, protocolOf(path, shape)),
    api: 'generic',
    ...(requestModel === undefined ? {} : { requestModel }),
    stream: body?.['stream'] === true || /stream/i.test(path.slice(path.lastIndexOf('/') + 1)) || isOllama(body, path),
    parameters,
  };
}

/** Ollama streams unless told not to. */
function isOllama(body: JsonObject | undefined, path: string): boolean {
  return /\/api\/(?:chat|generate)$/.test(path) && body?.['stream'] === undefined;
}

function modelOf(body: JsonObject | undefined): string | undefined {
  for (const key of ['model', 'model_id', 'modelId', 'model_name', 'agent_id', 'agent', 'version']) {
    const value = filledOf(body?.[key]);
    if (value !== undefined) return value;
  }
  return undefined;
}

function modelInPath(path: string): string | undefined {
  const found =
    /\/(?:models?|endpoints|serving-endpoints|deployments|engines)\/([^/]+?)(?::[A-Za-z]+)?(?:\/[a-z-]+)?$/.exec(path);
  // Bedrock's ids end in `:0`; only Google's methods are cut off.
  return found?.[1] === undefined ? undefined : decodeSegment(found[1]);
}

function protocolOf(path: string, shape: Shape): string {
  if (shape === 'anthropic') return 'anthropic';
  if (shape === 'gemini') return 'gcp.gemini';
  if (shape === 'converse' || /\/model\/[^/]+\/invoke/.test(path)) return 'aws.bedrock';
  if (/\/api\/(?:chat|generate|embed|embeddings)$/.test(path)) return 'ollama';
  if (/\/(?:images|audio)\/[a-z]+$|\/moderations$/.test(path)) return 'openai';
  return 'unknown';
}

function operationOf(path: string, shape: Shape, response: ResponseView): string {
  if (shape === 'gemini') return 'generate_content';
  if (shape === 'embeddings' || response.embeddings) return 'embeddings';
  const last = path.slice(path.lastIndexOf('/') + 1);
  switch (last) {
    case 'rerank':
      return 'rerank';
    case 'moderations':
      return 'moderation';
    case 'speech':
      return 'text_to_speech';
    case 'transcriptions':
    case 'translations':
      return 'speech_to_text';
    case 'generations':
    case 'edits':
    case 'variations':
      return 'image_generation';
    case 'complete':
    case 'completion':
    case 'generate':
    case 'infill':
      return 'text_completion';
    default:
      return 'chat';
  }
}

function outputType(path: string): string | undefined {
  if (/\/images\/[a-z]+$/.test(path)) return 'image';
  return path.endsWith('/audio/speech') ? 'speech' : undefined;
}

function genericRequest(body: JsonObject | undefined, shape: Shape, isConversation: boolean): RequestView {
  if (!body) return { messages: [] };
  const view: RequestView = { messages: messagesOf(body, shape) };
  if (!isConversation) for (const message of view.messages) message.role = INPUT_ROLE;
  const tools = body['tools'] ?? objectOf(body['toolConfig'])['tools'];
  if (Array.isArray(tools)) view.tools = tools;
  const previous = filledOf(body['previous_interaction_id']);
  if (previous !== undefined) view.previousResponseId = previous;
  return view;
}

function messagesOf(body: JsonObject, shape: Shape): RequestView['messages'] {
  switch (shape) {
    case 'anthropic':
      return anthropicMessages(body);
    case 'gemini':
      return geminiMessages(body);
    case 'converse':
      return converseMessages(body);
    case 'messages':
      return objectsOf(body['messages']).map(chatMessage);
    case 'embeddings':
      return embeddingInputs(embedInput(body));
    case 'other':
      return otherMessages(body);
  }
}

function embedInput(body: JsonObject): Json | undefined {
  const found = body['input'] ?? body['inputs'] ?? body['texts'] ?? body['prompt'] ?? body['inputText'];
  if (found !== undefined) return found;
  const requests = Array.isArray(body['requests']) ? objectsOf(body['requests']) : [body];
  return requests.map((entry) => partsText(objectOf(entry['content'])));
}

function partsText(content: JsonObject): string {
  return objectsOf(content['parts'])
    .map((part) => textOrJson(part['text']))
    .join('\n');
}

/** One input item of Gemini's interactions. */
function interactionItem(item: JsonObject): RequestView['messages'][number] {
  if (item['type'] !== 'function_result') return chatMessage({ role: 'user', content: [item] });
  const callId = filledOf(item['call_id']);
  const name = filledOf(item['name']);
  return {
    role: 'tool',
    toolResult: {
      ...(callId === undefined ? {} : { callId }),
      ...(name === undefined ? {} : { name }),
      content: textOrJson(item['result']),
    },
  };
}

/** A prompt, an input, or Cohere's history and message; a query with its documents for rerankers. */
function otherMessages(body: JsonObject): RequestView['messages'] {
  const messages: RequestView['messages'] = [];
  const instructions = filledOf(body['preamble']) ?? filledOf(body['system']) ?? filledOf(body['system_instruction']);
  if (instructions !== undefined) messages.push({ role: 'system', text: instructions });
  for (const turn of objectsOf(body['chat_history'])) {
    const role = (stringOf(turn['role']) ?? 'user').toLowerCase();
    messages.push({ role: role === 'chatbot' ? 'assistant' : role, text: textOrJson(turn['message'] ?? turn['text']) });
  }
  const input = body['input'] ?? body['inputs'] ?? body['prompt'] ?? body['message'] ?? body['inputText'];
  const source = input ?? body['query'] ?? body['text'] ?? body['instances'];
  if (Array.isArray(source) && objectsOf(source).some((entry) => entry['type'] === 'function_result')) {
    appendAll(messages, objectsOf(source).map(interactionItem));
  } else if (Array.isArray(source) && isObject(source[0]) && source[0]['role'] !== undefined) {
    appendAll(messages, objectsOf(source).map(chatMessage));
  } else if (isObject(source) && typeof source['prompt'] === 'string') {
    messages.push({ role: 'user', text: source['prompt'], raw: source });
  } else if (source !== undefined && source !== null) {
    const texts = Array.isArray(source) ? source : [source];
    for (const text of texts) messages.push({ role: 'user', text: textOrJson(text) });
  }
  for (const document of arrayOf(body['documents'] ?? body['texts'])) {
    messages.push({
      role: 'user',
      text: isObject(document) ? textOrJson(document['text'] ?? document) : textOrJson(document),
    });
  }
  return messages;
}
