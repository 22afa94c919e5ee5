/** Tool calls that models asked for and nobody has been seen to carry out yet. */
import type { ScopeFrame, SessionRef, ToolCall, TraceRef } from '@orangebox/schema';
import { canonicalJson } from '@orangebox/codec';

/** One tool call of an answer. */
export interface AskedTool {
  callId: string | undefined;
  name: string;
  arguments: string;
  askedBy: TraceRef;
  session: SessionRef | undefined;
  scope: ScopeFrame[];
  /** End of the asking call's answer. */
  endUnixNano: bigint;
}

const MAX_ASKED = 10_000;

/** Bounded memory of asked tool calls. */
export class AskedTools {
  #open: AskedTool[] = [];

  add(calls: readonly ToolCall[], by: Omit<AskedTool, 'callId' | 'name' | 'arguments'>): void {
    for (const call of calls) {
      this.#open.push({ callId: call.id, name: call.name, arguments: call.arguments, ...by });
    }
    if (this.#open.length > MAX_ASKED) this.#open = this.#open.slice(-MAX_ASKED / 2);
  }

  /** The asked call that a result answers: of the same session, else the only one anywhere with that id. */
  takeById(callId: string, sessionId: string | undefined): AskedTool | undefined {
    const withId = this.#open.filter((asked) => asked.callId === callId);
    const own = withId.find((asked) => sessionId !== undefined && asked.session?.id === sessionId);
    return this.#take(own ?? (withId.length === 1 ? withId[0] : undefined));
  }

  /** The asked call that a function's run carries out: same name and arguments, near ones first, oldest first. */
  takeByRun(run: {
    name: string;
    argumentTexts: readonly string[];
    traceId: string;
    sessionId: string | undefined;
    startUnixNano: bigint;
  }): AskedTool | undefined {
    const named = this.#open.filter((asked) => asked.name === run.name);
    const near = (list: AskedTool[]): AskedTool[] => {
      const declared = list.filter((asked) => run.sessionId !== undefined && asked.session?.id === run.sessionId);
      const traced = list.filter((asked) => asked.askedBy.traceId === run.traceId);
      return declared.length > 0 ? declared : traced.length > 0 ? traced : list;
    };
    const wanted = new Set(run.argumentTexts.map(canonicalText));
    const equal = near(named.filter((asked) => wanted.has(canonicalText(asked.arguments))));
    // A framework may have filled in defaults; then the name decides where only one can be meant.
    const byName = near(named);
    return this.#take(equal[0] ?? (byName.length === 1 ? byName[0] : undefined));
  }

  #take(asked: AskedTool | undefined): AskedTool | undefined {
    if (asked) this.#open.splice(this.#open.indexOf(asked), 1);
    return asked;
  }
}

/** Equal for equal JSON, whatever its spacing and order of members. */
function canonicalText(text: string): string {
  try {
    return canonicalJson(JSON.parse(text === '' ? '{}' : text));
  } catch {
    return text;
  }
}
