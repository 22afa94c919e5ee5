/**
 * Finds the call that a new call continues. Used by the recorder within a process, and by readers across processes, who
 * add calls in the order (start, process, seq). Pure: the hash and the identities come from outside.
 */
import type { RequestView, ResponseView } from '@orangebox/schema';
import { type Answer, type ConversationHashes, hashAnswer, hashConversation, type Junction } from './conversation.ts';
import { answerItemIds, isUniqueId, quotes, requestItemIds, settingText } from './conversation-evidence.ts';
import type { Sha256 } from './hash.ts';
import { Interned } from './interned.ts';
import { MultiMap } from './multi-map.ts';

/** Where a call was made; compared by identity. */
export interface CallPlace {
  /** Async place, agent scope or anything else that is one per strand of a program. */
  context?: unknown;
  traceId?: string;
  /** What the call is sent to: URL and model. Told apart only where nothing better tells calls apart. */
  target?: string;
}

/** A call as the index keeps it. */
export interface IndexedCall extends CallPlace {
  /** Whatever names the call to the caller, e.g. its span id. */
  id: string;
  session: string;
}

/** What showed that a call continues another, strongest first. */
export type ContinuationEvidence =
  /** It names the response, or the conversation that the provider keeps. */
  | 'response_id'
  | 'conversation_id'
  /** Its messages begin with all that the other call left: request and answer. */
  | 'answer'
  /** They begin with the other's request and part of its answer: a tool call of the same id, or same name and arguments. */
  | 'part_of_answer'
  /** They begin with the other's request, system prompt, tools and target are the same, and the answer was rewritten. */
  | 'request';

/** What is known about the conversation of a new call. */
export type Continuation =
  /** It continues `call`; `fork` when another call already did. `before` is the other's `after` (for the chain). */
  | { kind: 'continues'; call: IndexedCall; fork: boolean; by: ContinuationEvidence; before?: string }
  /** Several calls could be meant, and nothing tells which: a session of its own. */
  | { kind: 'ambiguous'; candidates: IndexedCall[]; before?: string }
  | { kind: 'new'; before?: string };

interface Entry {
  call: IndexedCall;
  order: number;
  after: string | undefined;
  continued: boolean;
  keys: readonly string[];
  /** Hash of system prompt and tools. */
  setting: string;
  /** Ids of the answer's items, which clients of the responses API send back. */
  itemIds: readonly string[];
  responseId: string | undefined;
  whole: string;
  hasUniqueCalls: boolean;
}

/** A new call, as far as it helps to choose among several that it may continue. */
interface Seeker {
  request: RequestView;
  place: CallPlace;
}

/** Entries that an index holds unless told otherwise; the oldest go first. */
export const CONVERSATION_INDEX_MAX_ENTRIES = 10_000;

/** Index of finished calls by what a later call may name or repeat. */
export class ConversationIndex {
  readonly #sha256: Sha256;
  readonly #maxEntries: number;
  readonly #byKey = new MultiMap<Entry>();
  readonly #entries = new Set<Entry>();
  /** A request is hashed once, for its match and for its entry; so are its setting and its answer. */
  readonly #hashed = new WeakMap<RequestView, ConversationHashes>();
  readonly #settings = new WeakMap<RequestView, string>();
  readonly #answers = new WeakMap<ResponseView, { whole: string; choices: Answer[] }>();
  readonly #texts = new Interned();
  #order = 0;

  constructor(options: { sha256: Sha256; maxEntries?: number }) {
    this.#sha256 = options.sha256;
    this.#maxEntries = options.maxEntries ?? CONVERSATION_INDEX_MAX_ENTRIES;
  }

  /** Number of calls held. */
  get size(): number {
    return this.#entries.size;
  }

  /**
   * The call that a request continues: the one whose response or conversation it names, else the one that left the
   * longest beginning of its messages. Marks that call as continued.
   */
  match(request: RequestView, place: CallPlace = {}): Continuation {
    const seeker = { request, place };
    const named = this.#matchNamed(seeker);
    if (named) return named;
    const hashes = this.#hash(request);
    const found = this.#matchAnswers(hashes, seeker) ?? this.#matchRequests(hashes, seeker);
    if (found) return found;
    const before = hashes.junctions.at(-1)?.said.at(-1)?.after;
    return { kind: 'new', ...(before === undefined ? {} : { before }) };
  }

  /** Hash of the conversation that a call left: its messages and its first choice. */
  after(request: RequestView, response: ResponseView): string | undefined {
    return this.#choices(this.#hash(request).whole, response)[0]?.after;
  }

  /** Adds a finished call with the session it was given. */
  add(call: IndexedCall, request: RequestView, response: ResponseView): void {
    const whole = this.#wholeOf(request);
    const keys = new Set<string>();
    const choices = this.#choices(whole, response);
    for (const { after, atoms } of choices) {
      if (after !== undefined) keys.add(`after ${after}`);
      for (const atom of atoms) {
        if (atom.withoutId === undefined) continue;
        const said = this.#sha256(atom.withoutId);
        keys.add(`call ${whole} ${said}`);
        if (isUniqueId(atom.callId)) keys.add(`id ${whole} ${atom.callId}`);
        else keys.add(`weak ${whole} ${said}`);
      }
    }
    const setting = this.#setting(request);
    if (whole !== '') keys.add(`request ${whole} ${setting}`);
    if (response.id !== undefined) keys.add(`response ${response.id}`);
    if (request.conversationId !== undefined) keys.add(`conversation ${request.conversationId}`);
    const entry: Entry = {
      call,
      order: this.#order++,
      after: choices[0]?.after,
      continued: false,
      keys: [...keys],
      setting,
      itemIds: orNone(answerItemIds(response)),
      responseId: response.id,
      whole,
      hasUniqueCalls: response.toolCalls.some((toolCall) => isUniqueId(toolCall.id)),
    };
    this.#entries.add(entry);
    for (const key of keys) this.#byKey.add(key, entry);
    if (this.#entries.size > this.#maxEntries) this.#forgetOldest();
  }

  #hash(request: RequestView): ConversationHashes {
    const known = this.#hashed.get(request);
    if (known) return known;
    const hashes = hashConversation(request.messages, this.#sha256);
    this.#hashed.set(request, hashes);
    return hashes;
  }

  /** Polling a background response has no messages: its conversation is that of the call which began it. */
  #wholeOf(request: RequestView): string {
    if (request.messages.length > 0 || request.previousResponseId === undefined) return this.#hash(request).whole;
    const [begun] = this.#byKey.get(`response ${request.previousResponseId}`);
    return begun?.whole ?? '';
  }

  #choices(whole: string, response: ResponseView): Answer[] {
    const known = this.#answers.get(response);
    if (known?.whole === whole) return known.choices;
    const choices = response.choices.map(({ message }) => hashAnswer(whole, message, this.#sha256));
    this.#answers.set(response, { whole, choices });
    return choices;
  }

  #setting(request: RequestView): string {
    const known = this.#settings.get(request);
    if (known !== undefined) return known;
    const setting = this.#texts.of(this.#sha256(settingText(request)));
    this.#settings.set(request, setting);
    return setting;
  }

  #matchNamed(seeker: Seeker): Continuation | undefined {
    const { request } = seeker;
    if (request.previousResponseId !== undefined) {
      const found = this.#byKey.get(`response ${request.previousResponseId}`);
      if (found.length > 0) return this.#choose(found, seeker, 'response_id');
    }
    if (request.conversationId !== undefined) {
      // The provider keeps the state: the newest call that named it is the one before.
      const last = this.#byKey.get(`conversation ${request.conversationId}`).at(-1);
      if (last) return this.#choose([last], seeker, 'conversation_id');
    }
    return undefined;
  }

  #matchAnswers({ junctions }: ConversationHashes, seeker: Seeker): Continuation | undefined {
    for (let i = junctions.length - 1; i >= 0; i--) {
      const junction = junctions[i];
      if (!junction) continue;
      const whole = this.#answersAt(junction);
      // A whole answer with an id of its own leaves no doubt; without one, others may fit as well.
      if (whole.length > 0 && junction.said.some(({ atom }) => isUniqueId(atom.callId))) {
        return this.#choose(whole, seeker, 'answer');
      }
      const all = new Set([...whole, ...this.#partsAt(junction)]);
      if (all.size > 0) return this.#choose(all, seeker, whole.length > 0 ? 'answer' : 'part_of_answer');
    }
    return undefined;
  }

  #answersAt({ said }: Junction): readonly Entry[] {
    for (let j = said.length - 1; j >= 0; j--) {
      const found = this.#byKey.get(`after ${said[j]?.after ?? ''}`);
      if (found.length > 0) return found;
    }
    return [];
  }

  #partsAt({ before, said }: Junction): Iterable<Entry> {
    for (const { atom } of said) {
      const byId = isUniqueId(atom.callId) ? this.#byKey.get(`id ${before} ${atom.callId}`) : [];
      if (byId.length > 0) return byId;
    }
    const found = new Set<Entry>();
    for (const { atom } of said) {
      if (atom.withoutId === undefined) continue;
      // A call whose ids differ is another call, unless one side has none, or one that is used again and again.
      const kind = isUniqueId(atom.callId) ? 'weak' : 'call';
      const byCall = this.#byKey.get(`${kind} ${before} ${this.#sha256(atom.withoutId)}`);
      for (const entry of byCall) found.add(entry);
    }
    return found;
  }

  #matchRequests({ prefixes, junctions }: ConversationHashes, seeker: Seeker): Continuation | undefined {
    // Where the answer's call has another id, it is another answer, not one that was rewritten.
    const others = new Set(
      junctions.filter(({ said }) => said.some(({ atom }) => isUniqueId(atom.callId))).map(({ length }) => length - 1),
    );
    const setting = this.#setting(seeker.request);
    for (let i = prefixes.length - 2; i >= 0; i--) {
      const found = this.#byKey.get(`request ${prefixes[i] ?? ''} ${setting}`);
      const fitting = found.filter(
        (entry) => isSameTarget(entry.call, seeker.place) && !(entry.hasUniqueCalls && others.has(i)),
      );
      if (fitting.length > 0) return this.#choose(fitting, seeker, 'request');
    }
    return undefined;
  }

  #choose(found: Iterable<Entry>, seeker: Seeker, by: ContinuationEvidence): Continuation {
    const near = this.#closest([...found], seeker);
    const free = near.filter((entry) => !entry.continued);
    const candidates = free.length > 0 ? free : near;
    const newest = candidates.reduce((best, entry) => (entry.order > best.order ? entry : best));
    const before = newest.after === undefined ? {} : { before: newest.after };
    const sessions = new Set(candidates.map((entry) => entry.call.session));
    if (sessions.size > 1) {
      return { kind: 'ambiguous', candidates: candidates.map((entry) => entry.call), ...before };
    }
    const fork = newest.continued;
    newest.continued = true;
    return { kind: 'continues', call: newest.call, fork, by, ...before };
  }

  #forgetOldest(): void {
    for (const entry of this.#entries) {
      this.#entries.delete(entry);
      for (const key of entry.keys) this.#byKey.delete(key, entry);
      return;
    }
  }

  /** Narrows by one kind of evidence after the other; a kind that fits none is passed over. */
  #closest(found: Entry[], { request, place }: Seeker): Entry[] {
    if (found.length < 2) return found;
    let near = found;
    const narrow = (fits: (entry: Entry) => boolean): void => {
      const fitting = near.length < 2 ? [] : near.filter(fits);
      if (fitting.length > 0) near = fitting;
    };
    const ids = requestItemIds(request);
    if (ids.size > 0) narrow((entry) => entry.itemIds.some((id) => ids.has(id)));
    // Clients that make call ids unique put the response's id before them.
    narrow((entry) => entry.responseId !== undefined && quotes(request, entry.responseId));
    if (place.context !== undefined) narrow((entry) => entry.call.context === place.context);
    if (place.traceId !== undefined) narrow((entry) => entry.call.traceId === place.traceId);
    if (near.length > 1) {
      const setting = this.#setting(request);
      narrow((entry) => entry.setting === setting);
    }
    if (place.target !== undefined) narrow((entry) => entry.call.target === place.target);
    return near;
  }
}

const NONE: readonly string[] = [];

/** One empty list for all. */
function orNone(list: readonly string[]): readonly string[] {
  return list.length === 0 ? NONE : list.slice();
}

function isSameTarget(call: CallPlace, place: CallPlace): boolean {
  return call.target === undefined || place.target === undefined || call.target === place.target;
}
