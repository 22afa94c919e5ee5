/**
 * Joins tool results to the tool calls that asked for them, within one session: compatible servers give ids like
 * `call_0` again and again, so that an id means nothing outside of it, and little within.
 */
import type { RequestView, ToolCall, ToolResult } from '@orangebox/schema';
import { isClientCall } from './client-call.ts';
import { canonicalArguments } from './conversation-atoms.ts';

/** A tool call that an answer asked for. */
export interface AskedToolCall {
  call: ToolCall;
  /** Whatever names the asking LLM call to the caller, e.g. its span id. */
  askedBy: string;
}

/** A tool result and the call that it answers. */
export interface JoinedToolResult extends AskedToolCall {
  result: ToolResult;
}

interface Asked extends AskedToolCall {
  answered: boolean;
}

/** Calls that one session remembers; the oldest go first. */
export const TOOL_JOINS_MAX_CALLS = 4096;

/** The tool calls of one session and what came back for them. */
export class ToolJoins {
  #asked: Asked[] = [];

  /** Notes the tool calls of an answer. Those that ran at the provider are passed over. */
  ask(askedBy: string, calls: readonly ToolCall[]): void {
    for (const call of calls) if (isClientCall(call)) this.#asked.push({ call, askedBy, answered: false });
    if (this.#asked.length > TOOL_JOINS_MAX_CALLS) this.#asked = this.#asked.slice(-TOOL_JOINS_MAX_CALLS);
  }

  /**
   * The results in a request that answer noted calls, in order, each once: a request repeats those of earlier turns. Results of
   * one id are matched with calls of that id from the end, since histories lose their beginnings, not their ends.
   */
  answer(request: RequestView): JoinedToolResult[] {
    const joined: { at: number; join: JoinedToolResult }[] = [];
    for (const results of groupResults(request).values()) {
      const first = results[0];
      if (!first) continue;
      const asked = this.#candidates(first);
      for (let back = 1; back <= Math.min(results.length, asked.length); back++) {
        const call = asked[asked.length - back];
        const found = results[results.length - back];
        if (!call || !found || call.answered) continue;
        call.answered = true;
        joined.push({ at: found.at, join: { result: found.result, call: call.call, askedBy: call.askedBy } });
      }
    }
    return joined.sort((a, b) => a.at - b.at).map(({ join }) => join);
  }

  /** Calls that have no result yet. */
  get open(): AskedToolCall[] {
    return this.#asked.filter((asked) => !asked.answered).map(({ call, askedBy }) => ({ call, askedBy }));
  }

  #candidates({ result, call }: FoundResult): Asked[] {
    if (result.callId !== undefined) {
      const byId = this.#asked.filter((asked) => asked.call.id === result.callId);
      if (byId.length > 0) return byId;
      // The client gave the call another id; the request's own copy of it says which one it was.
      if (!call) return [];
      const args = canonicalArguments(call.arguments);
      return this.#asked.filter(
        (asked) => asked.call.name === call.name && canonicalArguments(asked.call.arguments) === args,
      );
    }
    if (result.name !== undefined) return this.#asked.filter((asked) => asked.call.name === result.name);
    return this.#asked.filter((asked) => asked.call.id === undefined);
  }
}

interface FoundResult {
  /** Place among the request's messages. */
  at: number;
  result: ToolResult;
  /** The tool call with the result's id, as the request repeats it. */
  call: ToolCall | undefined;
}

/** Results by their id, else by their name, else all together; in order. */
function groupResults(request: RequestView): Map<string, FoundResult[]> {
  const groups = new Map<string, FoundResult[]>();
  const calls = new Map<string, ToolCall>();
  for (const [at, message] of request.messages.entries()) {
    for (const call of message.toolCalls ?? []) if (call.id !== undefined) calls.set(call.id, call);
    const result = message.toolResult;
    if (!result) continue;
    const key = result.callId === undefined ? `name ${result.name ?? ''}` : `id ${result.callId}`;
    const call = result.callId === undefined ? undefined : calls.get(result.callId);
    const known = groups.get(key);
    if (known) known.push({ at, result, call });
    else groups.set(key, [{ at, result, call }]);
  }
  return groups;
}
