/** Which messages of a call are new since the call before. */
import { canonicalJson } from '@orangebox/codec';
import type { Json, Message, Snapshot } from '@orangebox/schema';

/** What a call's request has beyond an earlier call. */
export interface NewMessages {
  /** Messages that the reader has already seen with the earlier call. */
  seen: number;
  messages: Message[];
  /** The earlier call, when there is one whose conversation this call goes on with. */
  continues?: Snapshot;
}

/**
 * Finds the newest of the earlier calls whose messages begin this call's messages, and leaves them and that call's
 * answer out. A call that names the response it goes on from (`previous_response_id`) continues it without repeating.
 */
export function newSince(snapshot: Snapshot, earlier: readonly Snapshot[]): NewMessages {
  const messages = snapshot.request?.messages ?? [];
  const named = snapshot.request?.previousResponseId;
  const keys = messages.map(fingerprint);
  for (let i = earlier.length - 1; i >= 0; i--) {
    const before = earlier[i];
    if (before === undefined || before.id === snapshot.id) continue;
    if (named !== undefined && before.response?.id === named) return { seen: 0, messages, continues: before };
    const old = before.request?.messages ?? [];
    if (old.length === 0 || old.length >= messages.length) continue;
    if (!old.every((message, index) => fingerprint(message) === keys[index])) continue;
    const seen = old.length + answerLength(messages.slice(old.length), before);
    return { seen, messages: messages.slice(seen), continues: before };
  }
  return { seen: 0, messages };
}

/** How many of the messages right after the old ones are the earlier call's answer, sent back. */
function answerLength(rest: readonly Message[], before: Snapshot): number {
  let length = 0;
  const answered = new Set((before.response?.toolCalls ?? []).map((call) => call.id));
  for (const message of rest) {
    // Responses API: one item per tool call, so an answer may come back as several messages.
    const own = message.toolCalls?.every((call) => call.id === undefined || answered.has(call.id)) ?? true;
    if (!['assistant', 'model'].includes(message.role) || message.toolResult !== undefined || !own) break;
    length++;
  }
  return length;
}

const fingerprints = new WeakMap<Message, string>();

function fingerprint(message: Message): string {
  const known = fingerprints.get(message);
  if (known !== undefined) return known;
  const { raw: _raw, ...shown } = message;
  const made = keyOf(shown as unknown as Json);
  fingerprints.set(message, made);
  return made;
}

/** Canonical form; text that has none (a lone surrogate, written as an escape in the recorded JSON) is taken as it is. */
function keyOf(json: Json): string {
  try {
    return canonicalJson(json);
  } catch {
    return JSON.stringify(json);
  }
}

/** Name of each tool by the id of the call that asked for it: in this conversation, and in earlier answers. */
export function toolNamesOf(snapshot: Snapshot, earlier: readonly Snapshot[]): Map<string, string> {
  const calls = [
    ...earlier.flatMap((before) => before.response?.toolCalls ?? []),
    ...(snapshot.request?.messages ?? []).flatMap((message) => message.toolCalls ?? []),
    ...(snapshot.response?.toolCalls ?? []),
  ];
  return new Map(calls.flatMap((call) => (call.id === undefined ? [] : [[call.id, call.name] as const])));
}
