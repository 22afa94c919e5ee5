/** Which session a call belongs to: the declared one, or the one whose conversation it continues. */
import { ConversationIndex, type Described, Interned, isConversation, type Sha256 } from '@orangebox/codec';
import type { Chain, SessionRef, TraceRef } from '@orangebox/schema';
import { forgetOldest, type SessionCounts } from './session-counts.ts';
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
  /** Where the call was sent. */
  url: string;
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

/** Conversations beyond this number are forgotten, oldest first. */
const MAX_ENTRIES = 10_000;

/** Remembers the conversations of this process by hash, no content. */
export class SessionBook {
  readonly #index: ConversationIndex;
  readonly #counts: SessionCounts;
  /** First call of the conversation, by the span id of each of its calls. */
  readonly #roots: Map<string, TraceRef> = new Map();
  /** Places by number: the index must not keep objects of the program alive. */
  readonly #placeIds: WeakMap<object, number> = new WeakMap();
  readonly #texts = new Interned();
  #places = 0;

  constructor(sha256: Sha256, counts: SessionCounts) {
    this.#counts = counts;
    this.#index = new ConversationIndex({ sha256, maxEntries: MAX_ENTRIES });
  }

  /** Finds the session of a call that ended. Calls come in the order they ended. */
  place(input: SessionInput): SessionPlace {
    const { declared, views } = input;
    if (!views || !isConversation(views.call)) {
      return { ...(declared ? { session: this.#ref(declared.id, 'declared', input) } : {}), settled: () => {} };
    }
    const where = {
      context: declared ? `session ${declared.id}` : this.#placeId(input.place),
      ...(input.traceId === undefined ? {} : { traceId: input.traceId }),
      target: this.#texts.of(`${input.url} ${views.call.requestModel ?? ''}`),
    };
    const found = this.#index.match(views.request, where);
    const continued = found.kind === 'continues' ? found.call : undefined;
    const sessionId = declared?.id ?? continued?.session ?? randomHex(16);
    // A conversation that is carried on under another declared name is another session.
    const root = continued?.session === sessionId ? this.#roots.get(continued.id) : undefined;
    const after = this.#index.after(views.request, views.response);
    const { before } = found;
    const basis = declared ? 'declared' : found.kind === 'ambiguous' ? 'ambiguous' : 'inferred';
    return {
      session: this.#ref(sessionId, basis, input),
      ...(before === undefined && after === undefined
        ? {}
        : { chain: { ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) } }),
      ...(root ? { first: root } : {}),
      settled: (trace) => {
        if (declared) this.#counts.settled(declared.id, trace.traceId);
        this.#roots.set(trace.spanId, root ?? trace);
        forgetOldest(this.#roots, MAX_ENTRIES);
        const { context, target } = where;
        // Written out: what is spread into an object gives each a shape of its own, of three times its size.
        const call = { id: trace.spanId, session: sessionId, context, traceId: trace.traceId, target };
        this.#index.add(call, views.request, views.response);
      },
    };
  }

  #ref(id: string, basis: SessionRef['basis'], { declared, declaredSeq }: SessionInput): SessionRef {
    const userId = declared?.userId;
    return { id, seq: declaredSeq ?? this.#counts.nextSeq(id), basis, ...(userId === undefined ? {} : { userId }) };
  }

  #placeId(place: object | undefined): number | undefined {
    if (!place) return undefined;
    const id = this.#placeIds.get(place) ?? ++this.#places;
    this.#placeIds.set(place, id);
    return id;
  }
}
