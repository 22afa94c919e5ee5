/**
 * The chain of a conversation: hashes that tell which call continues which. They survive what clients do to an answer
 * when they send it back (see {@link chatAtoms}).
 */
import type { CallView, Chain, Message, RequestView, ResponseView, ToolResult } from '@orangebox/schema';
import { type Atom, chatAtoms } from './conversation-atoms.ts';
import type { Sha256 } from './hash.ts';
import { withJsonOf } from './json-text.ts';

/** A place in a conversation at which a call may have been made: all before it is that call's request. */
export interface Junction {
  /** Hash of the messages before. */
  before: string;
  /** Things the model said right after, and the hash of the conversation up to each. */
  said: { atom: Atom; after: string }[];
  /** Number of atoms before. */
  length: number;
}

/** A request's messages as hashes. */
export interface ConversationHashes {
  /** Hash of all messages. */
  whole: string;
  /** Hash after each atom. */
  prefixes: string[];
  /** Where the model spoke, oldest first. */
  junctions: Junction[];
}

function extend(hash: string, atom: Atom, sha256: Sha256): string {
  const head = `${hash}\n${atom.text}`;
  return sha256(atom.said === undefined ? head : withJsonOf(head, atom.said));
}

/** Hashes of a request's messages. */
export function hashConversation(messages: readonly Message[], sha256: Sha256): ConversationHashes {
  let whole = '';
  const prefixes: string[] = [];
  const junctions: Junction[] = [];
  let open: Junction | undefined;
  for (const atom of chatAtoms(messages)) {
    if (atom.byModel && !open) {
      open = { before: whole, said: [], length: prefixes.length };
      junctions.push(open);
    }
    whole = extend(whole, atom, sha256);
    prefixes.push(whole);
    if (atom.byModel) open?.said.push({ atom, after: whole });
    else open = undefined;
  }
  return { whole, prefixes, junctions };
}

/** What an answer says, and the hash of the conversation up to its end; without one when it says nothing. */
export interface Answer {
  atoms: Atom[];
  after?: string;
}

/** An answer to messages of a hash. */
export function hashAnswer(whole: string, answer: Message, sha256: Sha256): Answer {
  const atoms = chatAtoms([answer]);
  if (atoms.length === 0) return { atoms };
  return { atoms, after: atoms.reduce((hash, atom) => extend(hash, atom, sha256), whole) };
}

/** Hash of the conversation that a call left; undefined when the answer says nothing. */
export function hashAfter(whole: string, answer: Message | undefined, sha256: Sha256): string | undefined {
  return answer && hashAnswer(whole, answer, sha256).after;
}

/**
 * Hashes of the conversation that a call continued (its messages up to the last answer among them) and of the one it
 * left (its messages and its first choice). A call continues the call whose `after` is its `before`.
 */
export function chainOf(request: RequestView, response: ResponseView, sha256: Sha256): Chain {
  const { whole, junctions } = hashConversation(request.messages, sha256);
  const before = junctions.at(-1)?.said.at(-1)?.after;
  const after = hashAfter(whole, response.choices[0]?.message, sha256);
  return { ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) };
}

const CONVERSATIONS = new Set(['chat', 'generate_content', 'text_completion']);

/** Whether a call is a turn of a conversation; embeddings, rankings, images and the like stand alone. */
export function isConversation(call: CallView): boolean {
  return CONVERSATIONS.has(call.operation);
}

/** The tool results that a request carries, in order; those of earlier turns among them. */
export function toolResultsOf(request: RequestView): ToolResult[] {
  return request.messages.flatMap((message) => (message.toolResult ? [message.toolResult] : []));
}
