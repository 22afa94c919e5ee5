/** Which session a call belongs to: the declared one, or the one whose conversation it continues. */
import { chainOf, type Described, type Sha256 } from '@orangebox/codec';
import type { Chain, SessionRef, TraceRef } from '@orangebox/schema';
import { randomHex } from './spans.ts';

/** What decides about a call's session. */
export interface SessionInput {
  declared?: { id: string; userId?: string };
  /** Taken at the call's creation, where it was declared: parallel calls are counted in the order they began. */
  declaredSeq?: number;
  /** Absent for other HTTP. */
  views?: Described;
  /** The call's innermost async place. */
  place: object | undefined;
  /** The call's trace, where a parent decided it. */
  traceId: string | undefined;
}

/** A call's place among the calls of the process. */
export interface SessionPlace {
  session?: SessionRef;
  chain?: Chain;
  /** The first call of the conversation: parent of a call that has no other. */
  first?: TraceRef;
  /** Tells the book the call's final ids. */
  settled(trace: TraceRef): void;
}

interface Node {
  sessionId: string;
  traceId: string | undefined;
  place: WeakRef<object> | undefined;
  isContinued: boolean;
  /** Ids of the conversation's first call, shared by all its nodes. */
  root: { trace?: TraceRef };
}

/** Conversations beyond this number are forgotten, oldest first. */
const MAX_NODES = 20_000;

/** Remembers the conversations of this process by hash, no content. */
export class SessionBook {
  readonly #sha256: Sha256;
  /** By hash of the conversation a call left, and by the provider's ids of state that it keeps. */
  readonly #nodes: Map<string, Node[]> = new Map();
  readonly #counts: Map<string, number> = new Map();

  constructor(sha256: Sha256) {
    this.#sha256 = sha256;
  }

  /** The next number in a session. */
  nextSeq(sessionId: string): number {
    const seq = this.#counts.get(sessionId) ?? 0;
    this.#counts.delete(sessionId);
    this.#counts.set(sessionId, seq + 1);
    trim(this.#counts);
    return seq;
  }

  /** Finds the session of a call that ended. Calls come in the order they ended. */
  place(input: SessionInput): SessionPlace {
    const { declared, views } = input;
    const chain = views ? chainOf(views.request, views.response, this.#sha256) : {};
    const isConversation = views !== undefined && (views.request.messages.length > 0 || chain.after !== undefined);
    const link = views && isConversation ? this.#link(views, chain, input) : undefined;
    const before = link === 'ambiguous' ? undefined : link;
    if (before) before.isContinued = true;

    const sessionId = declared?.id ?? before?.sessionId ?? (isConversation ? randomHex(16) : undefined);
    if (sessionId === undefined) return { settled: () => {} };
    const isSame = before?.sessionId === sessionId;
    const node: Node = {
      sessionId,
      traceId: input.traceId,
      place: input.place && new WeakRef(input.place),
      isContinued: false,
      root: before && isSame ? before.root : {},
    };
    if (views) this.#remember(views, chain, node);
    return {
      session: {
        id: sessionId,
        seq: input.declaredSeq ?? this.nextSeq(sessionId),
        basis: declared ? 'declared' : link === 'ambiguous' ? 'ambiguous' : 'inferred',
        ...(declared?.userId === undefined ? {} : { userId: declared.userId }),
      },
      ...(chain.before !== undefined || chain.after !== undefined ? { chain } : {}),
      ...(isSame && before?.root.trace ? { first: before.root.trace } : {}),
      settled: (trace) => {
        node.traceId = trace.traceId;
        node.root.trace ??= trace;
      },
    };
  }

  #link(views: Described, chain: Chain, input: SessionInput): Node | 'ambiguous' | undefined {
    const { previousResponseId, conversationId } = views.request;
    for (const key of [
      previousResponseId && `response:${previousResponseId}`,
      conversationId && `conversation:${conversationId}`,
      chain.before,
    ]) {
      const all = key ? this.#nodes.get(key) : undefined;
      // A declared session is continued by its own calls, an undeclared call by undeclared ones, else by any.
      const own = input.declared && all?.filter((node) => node.sessionId === input.declared?.id);
      const candidates = own && own.length > 0 ? own : all;
      if (candidates && candidates.length > 0) return choose(candidates, input);
    }
    return undefined;
  }

  #remember(views: Described, chain: Chain, node: Node): void {
    const responseId = views.response.id;
    const { conversationId } = views.request;
    if (chain.after !== undefined) this.#add(chain.after, node);
    if (responseId !== undefined) this.#add(`response:${responseId}`, node);
    if (conversationId !== undefined) this.#add(`conversation:${conversationId}`, node);
  }

  #add(key: string, node: Node): void {
    const nodes = this.#nodes.get(key);
    if (nodes) nodes.push(node);
    else this.#nodes.set(key, [node]);
    trim(this.#nodes);
  }
}

function choose(candidates: Node[], input: SessionInput): Node | 'ambiguous' {
  const only = (nodes: Node[]): Node | undefined => (nodes.length === 1 ? nodes[0] : undefined);
  const near = candidates.filter(
    (node) =>
      (input.place !== undefined && node.place?.deref() === input.place) ||
      (input.traceId !== undefined && node.traceId === input.traceId),
  );
  const pool = near.length > 0 ? near : candidates;
  return only(pool) ?? pool.findLast((node) => !node.isContinued) ?? 'ambiguous';
}

function trim(map: Map<string, unknown>): void {
  if (map.size <= MAX_NODES) return;
  for (const key of map.keys()) {
    map.delete(key);
    break;
  }
}
