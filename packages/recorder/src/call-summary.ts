/** What is told of a call beside its snapshot: the facts of lists, and its error. */
import type { Described, ExchangeRecords } from '@orangebox/codec';
import type { CallSummary, ErrorInfo, Exchange, TimeSpan } from '@orangebox/schema';
import { timeToFirstChunkNano } from './otel/span-content.ts';

/** What a list shows of a call without opening its bodies. */
export function callSummary(exchanges: readonly Exchange[], time: TimeSpan, views: Described | undefined): CallSummary {
  const last = exchanges.at(-1);
  const usage = views?.response.usage;
  const firstChunk = timeToFirstChunkNano({ time, exchanges: [...exchanges] });
  return {
    ...(views ? { operation: views.call.operation, provider: views.call.provider, api: views.call.api } : {}),
    ...defined({
      model: views?.call.requestModel ?? views?.response.model,
      status: last?.response?.status,
      inputTokens: usage?.inputTokens,
      outputTokens: usage?.outputTokens,
      timeToFirstChunkNano: firstChunk === undefined ? undefined : String(firstChunk),
    }),
    ending: last?.ending ?? 'process_died',
    attempts: exchanges.length,
    stream: views?.call.stream ?? false,
    ...(views && views.response.toolCalls.length > 0
      ? { toolCalls: views.response.toolCalls.map(({ id, name }) => ({ ...(id === undefined ? {} : { id }), name })) }
      : {}),
    ...(views && views.response.finishReasons.length > 0 ? { finishReasons: views.response.finishReasons } : {}),
  };
}

/** The error of the call: that of its last attempt, its status, or one told within the answer. */
export function callError(last: ExchangeRecords, views: Described | undefined): ErrorInfo | undefined {
  const { end, responseHead } = last;
  const told = views?.response.error;
  if (responseHead && responseHead.status >= 400) {
    return {
      stage: end?.stage ?? 'done',
      type: String(responseHead.status),
      ...(told?.code === undefined ? {} : { code: told.code }),
      message: told?.message ?? responseHead.statusText,
    };
  }
  // Clients make an error of a `break` too; the program that stopped reading saw none.
  if (end?.error && end.ending !== 'caller_stopped_reading') return end.error;
  if (!told) return undefined;
  return {
    stage: 'response_body',
    type: told.type ?? told.code ?? 'error',
    ...(told.code === undefined ? {} : { code: told.code }),
    message: told.message,
  };
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function defined<T extends object>(members: T): Defined<T> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Defined<T>;
}
