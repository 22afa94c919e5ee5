/** What later snapshots tell of a call: how its tools ran and what the next call of the session added. */
import { type ContentDecoder, describeCall, toolResultsOf } from '@orangebox/codec';
import {
  type Message,
  OrangeboxError,
  type RequestView,
  type ResponseView,
  type Snapshot,
  type ToolCall,
  type ToolExecution,
} from '@orangebox/schema';
import { decodeContent } from './decode-content.ts';
import { compareStarts } from './filter.ts';
import type { SnapshotStore, StoredEntry } from './store.ts';

/** The parts of a snapshot that are joined at read time and never written back. */
export interface LaterFacts {
  toolExecutions: ToolExecution[];
  nextMessages: Message[];
}

/** How many calls after this one are looked at for its results. */
const LOOK_AHEAD = 32;

/**
 * Joins later records of the session (or, without one, of the trace) to a call. A store without them gives empty lists.
 * `decode` undoes content encodings; a body that it gives nothing of tells nothing.
 */
export async function joinLater(
  snapshot: Snapshot,
  store: SnapshotStore,
  decode: ContentDecoder = decodeContent,
): Promise<LaterFacts> {
  const { request, response } = describeCall(snapshot, decode);
  const later = await laterEntries(snapshot, store);
  const next = await nextCall(snapshot, response, later, { store, decode });
  const nextMessages = next ? addedMessages(request.messages, describeCall(next, decode).request, response.id) : [];
  const recorded = await recordedTools(snapshot, response.toolCalls, later, store);
  const seen = new Set(recorded.flatMap((tool) => tool.callId ?? []));
  const inferred = next ? inferredTools(response.toolCalls, describeCall(next, decode).request, seen, snapshot.id) : [];
  return { toolExecutions: [...recorded, ...inferred], nextMessages };
}

async function laterEntries(snapshot: Snapshot, store: SnapshotStore): Promise<StoredEntry[]> {
  const entry = await listedEntry(snapshot, store);
  // The store may have joined the session to one of an earlier process.
  const sessionId = entry?.session?.id ?? snapshot.session?.id;
  const scope = sessionId === undefined ? { traceId: snapshot.trace.traceId } : { sessionId };
  const later: StoredEntry[] = [];
  for await (const candidate of store.list({ ...scope, order: 'oldest' })) {
    const starts = { startUnixNano: candidate.time.startUnixNano };
    const isLater = compareStarts(starts, { startUnixNano: snapshot.time.startUnixNano }) >= 0;
    if (isLater && candidate.trace.spanId !== snapshot.id) later.push(candidate);
  }
  return later;
}

async function listedEntry(snapshot: Snapshot, store: SnapshotStore): Promise<StoredEntry | undefined> {
  for await (const entry of store.list({ spanId: snapshot.id, limit: 1 })) return entry;
  return undefined;
}

/** The call that continued this one: by the chain where both have one, else the next of the session. */
async function nextCall(
  snapshot: Snapshot,
  response: ResponseView,
  later: readonly StoredEntry[],
  { store, decode }: { store: SnapshotStore; decode: ContentDecoder },
): Promise<Snapshot | undefined> {
  const calls = later.filter((entry) => entry.kind === 'llm' && entry.status === 'stored').slice(0, LOOK_AHEAD);
  const after = snapshot.chain?.after;
  const chained = after === undefined ? undefined : calls.find((entry) => entry.chain?.before === after);
  if (chained) return loadIfThere(chained, store);
  const answerIds = new Set(response.toolCalls.flatMap((call) => call.id ?? []));
  const responseId = response.id;
  for (const entry of calls) {
    const candidate = await loadIfThere(entry, store);
    if (!candidate) continue;
    const { request } = describeCall(candidate, decode);
    if (responseId !== undefined && request.previousResponseId === responseId) return candidate;
    if (toolResultsOf(request).some((result) => result.callId !== undefined && answerIds.has(result.callId))) {
      return candidate;
    }
  }
  return undefined;
}

async function loadIfThere(entry: StoredEntry, store: SnapshotStore): Promise<Snapshot | undefined> {
  try {
    return await store.load(entry);
  } catch (error) {
    // A later call that is lost tells nothing; it does not spoil this one.
    if (error instanceof OrangeboxError) return undefined;
    throw error;
  }
}

/** Messages of the next request behind those of this one and its answer. */
function addedMessages(before: readonly Message[], request: RequestView, responseId: string | undefined): Message[] {
  if (responseId !== undefined && request.previousResponseId === responseId) return request.messages;
  let shared = 0;
  while (
    shared < before.length &&
    shared < request.messages.length &&
    JSON.stringify(before[shared]) === JSON.stringify(request.messages[shared])
  ) {
    shared += 1;
  }
  // System texts are often made anew for each call: the number of messages then tells where the answer stands.
  if (shared < before.length && request.messages.length > before.length) shared = before.length;
  while (request.messages[shared]?.role === 'assistant') shared += 1;
  return request.messages.slice(shared);
}

/** Tool snapshots that name this call, or a tool call id of its answer. */
async function recordedTools(
  snapshot: Snapshot,
  asked: readonly ToolCall[],
  later: readonly StoredEntry[],
  store: SnapshotStore,
): Promise<ToolExecution[]> {
  const ids = new Set(asked.flatMap((call) => call.id ?? []));
  const found: ToolExecution[] = [];
  for (const entry of later) {
    const { tool } = entry;
    if (!tool || entry.status !== 'stored') continue;
    const isOurs = tool.askedBy === snapshot.id || (tool.callId !== undefined && ids.has(tool.callId));
    if (!isOurs) continue;
    const loaded = await loadIfThere(entry, store);
    if (loaded?.tool) found.push(loaded.tool);
  }
  return withoutDoubles(found);
}

/** A run that was seen and also read from the next request counts once, as seen. */
function withoutDoubles(tools: readonly ToolExecution[]): ToolExecution[] {
  const wrapped = new Set(tools.filter((tool) => tool.basis === 'wrapped').flatMap((tool) => tool.callId ?? []));
  return tools.filter((tool) => tool.basis === 'wrapped' || tool.callId === undefined || !wrapped.has(tool.callId));
}

/** Results that the next request carries for tool calls that no record tells of. */
function inferredTools(
  asked: readonly ToolCall[],
  request: RequestView,
  seen: ReadonlySet<string>,
  askedBy: string,
): ToolExecution[] {
  const results = toolResultsOf(request);
  return asked.flatMap((call) => {
    const result = results.find((candidate) => candidate.callId !== undefined && candidate.callId === call.id);
    if (!result || call.id === undefined || seen.has(call.id)) return [];
    return [
      {
        basis: 'inferred' as const,
        name: call.name,
        callId: call.id,
        arguments: call.arguments,
        result: result.content,
        askedBy,
      },
    ];
  });
}
