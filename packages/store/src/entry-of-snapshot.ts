/** What a list shows of a snapshot, where no record with these facts is at hand. */
import { describeCall } from '@orangebox/codec';
import { type CallSummary, type Exchange, type Snapshot, snapshotKey } from '@orangebox/schema';
import { decodeContent } from './decode-content.ts';
import type { StoredEntry } from './store.ts';

/** The entry of a snapshot, `ref` still empty. */
export function entryOfSnapshot(snapshot: Snapshot, location: string): StoredEntry {
  const { tool, process } = snapshot;
  const first = snapshot.exchanges[0]?.request;
  const attemptSpanIds = snapshot.exchanges.flatMap((exchange) => exchange.spanId ?? []);
  return {
    ref: '',
    key: snapshotKey(snapshot),
    kind: snapshot.kind,
    trace: snapshot.trace,
    ...(snapshot.session ? { session: snapshot.session } : {}),
    scope: snapshot.scope,
    time: snapshot.time,
    ...(snapshot.exchanges.length > 0 ? { summary: summaryOf(snapshot) } : {}),
    ...(tool
      ? {
          tool: {
            name: tool.name,
            basis: tool.basis,
            failed: tool.error !== undefined || snapshot.error !== undefined,
            ...(tool.callId === undefined ? {} : { callId: tool.callId }),
            ...(tool.askedBy === undefined ? {} : { askedBy: tool.askedBy }),
          },
        }
      : {}),
    ...(snapshot.error ? { error: { type: snapshot.error.type, message: snapshot.error.message } } : {}),
    fidelity: snapshot.fidelity,
    status: 'stored',
    digest: snapshot.digest,
    ...(snapshot.chain ? { chain: snapshot.chain } : {}),
    ...(attemptSpanIds.length > 0 ? { attemptSpanIds } : {}),
    process: {
      pid: process.pid,
      threadId: process.threadId,
      host: process.host,
      serviceName: process.serviceName,
    },
    ...(first ? { request: { method: first.method, url: first.url } } : {}),
    location,
  };
}

/** The facts of a call, from its last attempt. */
function summaryOf(snapshot: Snapshot): CallSummary {
  const last = snapshot.exchanges.at(-1) as Exchange;
  const base: CallSummary = {
    ending: last.ending,
    attempts: snapshot.exchanges.length,
    stream: false,
    ...(last.response ? { status: last.response.status } : {}),
    ...timeToFirstChunk(snapshot, last),
  };
  if (snapshot.kind !== 'llm') return base;
  const { call, response } = describeCall(snapshot, decodeContent);
  const model = response.model ?? call.requestModel;
  return {
    ...base,
    operation: call.operation,
    provider: call.provider,
    api: call.api,
    stream: call.stream,
    ...(model === undefined ? {} : { model }),
    ...(response.usage?.inputTokens === undefined ? {} : { inputTokens: response.usage.inputTokens }),
    ...(response.usage?.outputTokens === undefined ? {} : { outputTokens: response.usage.outputTokens }),
    ...(response.toolCalls.length > 0
      ? {
          toolCalls: response.toolCalls.map(({ id, name }) => (id === undefined ? { name } : { id, name })),
        }
      : {}),
    ...(response.finishReasons.length > 0 ? { finishReasons: response.finishReasons } : {}),
  };
}

/** Counted from the start of the call, over failed attempts too. */
function timeToFirstChunk(snapshot: Snapshot, last: Exchange): Pick<CallSummary, 'timeToFirstChunkNano'> {
  const offset = last.response?.chunks[0]?.offsetNano;
  if (offset === undefined) return {};
  const nano = BigInt(last.startUnixNano) + BigInt(offset) - BigInt(snapshot.time.startUnixNano);
  return nano < 0n ? {} : { timeToFirstChunkNano: String(nano) };
}
