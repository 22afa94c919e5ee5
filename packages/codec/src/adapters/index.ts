/** From exchanges to the parsed view: picks the adapter and never throws. */
import type { Exchange, Snapshot } from '@orangebox/schema';
import type { Described } from './described.ts';
import { describeGeneric } from './generic.ts';
import { AdapterInput, type ContentDecoder } from './input.ts';
import { isObject } from './json.ts';
import { emptyResponse } from './message.ts';
import { describeChat } from './openai-chat.ts';
import { describeCompletions } from './openai-completions.ts';
import { describeEmbeddings } from './openai-embeddings.ts';
import { describeResponses } from './openai-responses.ts';

/**
 * The call, request and response views of a call, made from its last attempt. `decode` undoes content encodings.
 * Never throws: what cannot be read is left out of the view, the exchange itself stays the truth.
 */
export function describeCall(call: { exchanges: readonly Exchange[] }, decode: ContentDecoder): Described {
  const exchange = call.exchanges.at(-1);
  if (!exchange) return nothing();
  try {
    const input = new AdapterInput(exchange, decode);
    try {
      return adapterOf(input)(input);
    } catch {
      return describeGeneric(input);
    }
  } catch {
    return nothing();
  }
}

/** The snapshot with its `call`, `request` and `response` views made anew; other kinds come back as they are. */
export function withViews(snapshot: Snapshot, decode: ContentDecoder): Snapshot {
  if (snapshot.kind !== 'llm' || snapshot.exchanges.length === 0) return snapshot;
  return { ...snapshot, ...describeCall(snapshot, decode) };
}

function nothing(): Described {
  return {
    call: { operation: 'unknown', provider: 'unknown', api: 'generic', stream: false, parameters: {} },
    request: { messages: [] },
    response: emptyResponse(),
  };
}

function adapterOf(input: AdapterInput): (input: AdapterInput) => Described {
  const { path, request } = input;
  if (/\/(?:chat|agents)\/completions$/.test(path)) return describeChat;
  if (path.endsWith('/completions')) {
    const chat = request?.['prompt'] === undefined && isChatAnswer(input);
    return chat || Array.isArray(request?.['messages']) ? describeChat : describeCompletions;
  }
  if (/\/responses(?:\/compact|\/resp_[^/]+)?$/.test(path)) return describeResponses;
  if (path.endsWith('/embeddings') && !path.endsWith('/api/embeddings')) return describeEmbeddings;
  return Array.isArray(request?.['messages']) && isChatAnswer(input) ? describeChat : describeGeneric;
}

/** How far into a stream its kind is looked for. */
const HEAD_CHARS = 4096;

function isChatAnswer(input: AdapterInput): boolean {
  if (input.isSse) return input.responseText.slice(0, HEAD_CHARS).includes('chat.completion');
  if (input.responseHeader('content-type')?.includes('eventstream')) return false;
  const json = input.responseJson;
  return isObject(json) && typeof json['object'] === 'string' && json['object'].startsWith('chat.completion');
}
