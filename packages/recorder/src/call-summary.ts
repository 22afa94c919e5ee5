/** What is told of a call beside its snapshot: the facts of lists, and its error. */
import type { Described, ExchangeRecords } from '@orangebox/codec';
import type { CallSummary, ErrorInfo, Exchange, TimeSpan } from '@orangebox/schema';
import { timeToFirstChunkNano } from './otel/span-content.ts';

/** What a list shows of a call without opening its bodies. */
export function callSummary(exchanges: readonly Exchange[], time: TimeSpan, views: Described | undefined): CallSummary {
  const last = exchanges.at(-1);
  const firstChunk = timeToFirstChunkNano({ time, exchanges: [...exchanges] });
  const summary: CallSummary = {
    ending: last?.ending ?? 'process_died',
    attempts: exchanges.length,
    stream: views?.call.stream ?? false,
  };
  const status = last?.response?.status;
  if (status !== undefined) summary.status = status;
  if (firstChunk !== undefined) summary.timeToFirstChunkNano = String(firstChunk);
  if (views) addViews(summary, views);
  return summary;
}

function addViews(summary: CallSummary, { call, response }: Described): void {
  summary.operation = call.operation;
  summary.provider = call.provider;
  summary.api = call.api;
  const model = call.requestModel ?? response.model;
  if (model !== undefined) summary.model = model;
  const { inputTokens, outputTokens } = response.usage ?? {};
  if (inputTokens !== undefined) summary.inputTokens = inputTokens;
  if (outputTokens !== undefined) summary.outputTokens = outputTokens;
  if (response.toolCalls.length > 0) {
    summary.toolCalls = response.toolCalls.map(({ id, name }) => (id === undefined ? { name } : { id, name }));
  }
  if (response.finishReasons.length > 0) summary.finishReasons = response.finishReasons;
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
