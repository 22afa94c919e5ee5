/** The chain of a conversation: which call continues which, and which tool result answers which tool call. */
import type { Chain, Message, RequestView, ResponseView, ToolResult } from '@orangebox/schema';
import { chatAtoms } from './conversation-atoms.ts';
import type { Sha256 } from './hash.ts';

/** Rolling hash over the atoms of a conversation. */
export function extendHash(hash: string, atoms: readonly string[], sha256: Sha256): string {
  let out = hash;
  for (const atom of atoms) out = sha256(`${out}\n${atom}`);
  return out;
}

/**
 * Hashes of the conversation that a call continued (its messages up to the last answer among them) and of the one it
 * left (its messages and its answer). A call continues the call whose `after` is its `before`.
 */
export function chainOf(request: RequestView, response: ResponseView, sha256: Sha256): Chain {
  const atoms = chatAtoms(request.messages);
  const chain: Chain = {};
  const last = atoms.findLastIndex((atom) => atom.byModel);
  const texts = atoms.map((atom) => atom.text);
  if (last >= 0) chain.before = extendHash('', texts.slice(0, last + 1), sha256);
  const answer = answerOf(response);
  if (answer) {
    const own = chatAtoms([answer]).map((atom) => atom.text);
    if (own.length > 0) chain.after = extendHash('', [...texts, ...own], sha256);
  }
  return chain;
}

function answerOf(response: ResponseView): Message | undefined {
  return response.choices[0]?.message;
}

/** The tool results that a request carries, in order. */
export function toolResultsOf(request: RequestView): ToolResult[] {
  return request.messages.flatMap((message) => (message.toolResult ? [message.toolResult] : []));
}
