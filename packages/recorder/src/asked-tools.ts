/** Tool calls that models asked for, and what is known of who carried them out. */
import { canonicalJson, ToolJoins } from '@orangebox/codec';
import type { RequestView, ScopeFrame, SessionRef, ToolCall, TraceRef } from '@orangebox/schema';

/** The call that asked. */
export interface AskingCall {
  trace: TraceRef;
  session: SessionRef | undefined;
  scope: ScopeFrame[];
  /** That its request named. */
  model: string | undefined;
  /** End of its answer. */
  endUnixNano: bigint;
}

/** One tool call of an answer. */
export interface AskedTool {
  call: ToolCall;
  by: AskingCall;
}

/** A function's run that looks for the call that asked for it. */
export interface RunToJoin {
  name: string;
  /** JSON texts of the arguments, one and all. */
  argumentTexts: readonly string[];
  traceId: string;
  sessionId: string | undefined;
}

const MAX_OPEN = 10_000;
const MAX_SESSIONS = 2000;
/** Characters of arguments that are held in all; agents that write files pass whole files. */
const MAX_CHARS = 16 * 1024 * 1024;

interface SessionTools {
  joins: ToolJoins;
  chars: number;
}

/** Bounded memory of asked tool calls: beyond a bound the sessions that were quiet longest are forgotten. */
export class AskedTools {
  /** Asked and neither run nor answered, oldest first. */
  #open: AskedTool[] = [];
  readonly #bySession: Map<string, SessionTools> = new Map();
  #chars = 0;
  readonly #byCall: WeakMap<ToolCall, AskedTool> = new WeakMap();
  readonly #run: WeakSet<ToolCall> = new WeakSet();

  /** Notes the tool calls of an answer. */
  ask(calls: readonly ToolCall[], by: AskingCall): void {
    if (calls.length === 0) return;
    const copies = calls.map((call) => ({ ...call }));
    const session = this.#session(by.session);
    session.joins.ask(by.trace.spanId, copies);
    const chars = copies.reduce((sum, call) => sum + call.arguments.length, 0);
    session.chars += chars;
    this.#chars += chars;
    for (const call of copies) {
      const asked = { call, by };
      this.#byCall.set(call, asked);
      this.#open.push(asked);
    }
    if (this.#open.length > MAX_OPEN) this.#open = this.#open.slice(-MAX_OPEN / 2);
    while (this.#chars > MAX_CHARS) this.#forgetOldest();
  }

  /** The results in a request that answer asked calls whose run nobody saw; each once. */
  answer(request: RequestView, session: SessionRef | undefined): (AskedTool & { content: string; isError: boolean })[] {
    // Most calls have to do with no tool: nothing is made for their sessions.
    if (!this.#bySession.has(session?.id ?? '')) return [];
    const answered = this.#session(session).joins.answer(request);
    if (answered.length === 0) return [];
    const place = new Map(this.#open.map(({ call }, i) => [call, i]));
    return answered
      .sort((a, b) => (place.get(a.call) ?? 0) - (place.get(b.call) ?? 0))
      .flatMap(({ call, result }) => {
        const asked = this.#byCall.get(call);
        if (!asked || this.#run.has(call)) return [];
        this.#close(asked);
        return [{ ...asked, content: result.content, isError: result.isError === true }];
      });
  }

  /** The asked call that a run carries out: same name and arguments, near ones first, oldest first. */
  takeForRun(run: RunToJoin): AskedTool | undefined {
    const named = nearest(
      this.#open.filter(({ call }) => call.name === run.name),
      run,
    );
    const wanted = new Set(run.argumentTexts.map(canonicalText));
    const equal = named.find(({ call }) => wanted.has(canonicalText(call.arguments)));
    // A framework may have filled in defaults; then the name decides where only one can be meant.
    const taken = equal ?? (named.length === 1 ? named[0] : undefined);
    if (!taken) return undefined;
    this.#run.add(taken.call);
    this.#close(taken);
    return taken;
  }

  #close(asked: AskedTool): void {
    const at = this.#open.indexOf(asked);
    if (at >= 0) this.#open.splice(at, 1);
  }

  #session(session: SessionRef | undefined): SessionTools {
    const id = session?.id ?? '';
    const known = this.#bySession.get(id) ?? { joins: new ToolJoins(), chars: 0 };
    this.#bySession.delete(id);
    this.#bySession.set(id, known);
    if (this.#bySession.size > MAX_SESSIONS) this.#forgetOldest();
    return known;
  }

  #forgetOldest(): void {
    for (const [id, { chars }] of this.#bySession) {
      this.#bySession.delete(id);
      this.#chars -= chars;
      this.#open = this.#open.filter(({ by }) => (by.session?.id ?? '') !== id);
      return;
    }
    this.#chars = 0;
  }
}

function nearest(list: AskedTool[], run: RunToJoin): AskedTool[] {
  const declared = list.filter(({ by }) => run.sessionId !== undefined && by.session?.id === run.sessionId);
  if (declared.length > 0) return declared;
  const traced = list.filter(({ by }) => by.trace.traceId === run.traceId);
  return traced.length > 0 ? traced : list;
}

/** Equal for equal JSON, whatever its spacing and order of members. */
function canonicalText(text: string): string {
  try {
    return canonicalJson(JSON.parse(text === '' ? '{}' : text));
  } catch {
    return text;
  }
}
