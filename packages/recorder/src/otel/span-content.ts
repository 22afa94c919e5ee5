/** What stands on a call's and a tool's span: names, attributes and status, read from the snapshot. Pure functions. */
import {
  ATTR,
  type CallView,
  type ErrorInfo,
  type Exchange,
  GEN_AI,
  HTTP_ATTR,
  type RequestView,
  type ResponseView,
  type Snapshot,
} from '@orangebox/schema';
import type { AttemptSpanFacts, CallSpanFacts, SpanAttributes, SpanStatus, ToolSpanFacts } from '../spans.ts';
import { contentAttributes } from './gen-ai-messages.ts';
import { genAiAttributes, type SemconvNames } from './gen-ai-attributes.ts';

/** How much stands on spans. */
export interface SpanContentOptions {
  /** Message content goes on spans. */
  captureContent: boolean;
  names: SemconvNames;
}

/** What an adapter made of a call. */
export interface CallViews {
  call: CallView;
  request: RequestView;
  response: ResponseView;
}

/** What {@link callSpanFacts} reads. */
export interface CallContentInput {
  /** The snapshot, digest included. */
  snapshot: Snapshot;
  /** Absent for other HTTP. */
  views?: CallViews;
  /** Absent when nothing is promised. */
  key?: string;
  /** Bytes of the snapshot's JSON. */
  sizeBytes: number;
  /** {@link import('../spans.ts').SpanHandle.nested}. */
  nested: boolean;
  /** From `settle`, in order; empty unless the call has several attempts. */
  attemptSpanIds: readonly string[];
}

/** What {@link toolSpanFacts} reads. */
export interface ToolContentInput {
  snapshot: Snapshot;
  key?: string;
  sizeBytes: number;
}

/** First attributes of a call's span: where it goes, and a placeholder for each attribute of our own. */
export function callStartAttributes(method: string, url: string): SpanAttributes {
  // Placeholders hold a place among the 128 attributes that a span may have; `end` overwrites them.
  return { ...orangeboxPlaceholders(), [HTTP_ATTR.requestMethod]: method, ...serverAttributes(url) };
}

/** First attributes of a tool's span. */
export function orangeboxPlaceholders(): SpanAttributes {
  return {
    [ATTR.snapshotKey]: '',
    [ATTR.snapshotDigest]: '',
    [ATTR.snapshotSize]: 0,
    [ATTR.snapshotFidelity]: '',
    [ATTR.snapshotFidelityReason]: '',
    [ATTR.sessionId]: '',
    [ATTR.sessionSeq]: 0,
    [ATTR.sessionBasis]: '',
    [ATTR.snapshotKeptLocal]: '',
  };
}

/** Everything that a call's span ends with. */
export function callSpanFacts(input: CallContentInput, options: SpanContentOptions): CallSpanFacts {
  const { snapshot, views, nested } = input;
  const last = snapshot.exchanges.at(-1);
  const failure = failureOf(snapshot.error, last, views?.response);
  const attributes = orangeboxAttributes(input);
  if (last) {
    attributes[HTTP_ATTR.requestMethod] = last.request.method;
    Object.assign(attributes, serverAttributes(last.request.url));
    if (last.response) attributes[HTTP_ATTR.responseStatusCode] = last.response.status;
  }
  if (failure) attributes[HTTP_ATTR.errorType] = failure.type;
  if (snapshot.session) attributes[GEN_AI.conversationId] = snapshot.session.id;
  Object.assign(attributes, agentAttributes(snapshot));
  if (views) {
    Object.assign(attributes, genAiAttributes(views, { names: options.names, nested }));
    const firstChunkNano = views.call.stream ? timeToFirstChunkNano(snapshot) : undefined;
    if (firstChunkNano !== undefined && !nested) {
      attributes[GEN_AI.responseTimeToFirstChunk] = Number(firstChunkNano) / 1e9;
    }
    if (options.captureContent && !nested) Object.assign(attributes, contentAttributes(views));
  } else if (last) {
    attributes[HTTP_ATTR.urlFull] = last.request.url;
  }
  return {
    name: callSpanName(views?.call, last),
    startUnixNano: BigInt(snapshot.time.startUnixNano),
    endUnixNano: BigInt(snapshot.time.endUnixNano),
    attributes,
    status: statusOf(failure),
    ...(snapshot.error ? { error: snapshot.error } : {}),
    attempts: input.attemptSpanIds.flatMap((spanId, i) => {
      const exchange = snapshot.exchanges[i];
      return exchange ? [attemptFacts(spanId, exchange, i)] : [];
    }),
  };
}

/** Everything that a tool's span ends with. */
export function toolSpanFacts(input: ToolContentInput, options: SpanContentOptions): ToolSpanFacts {
  const { snapshot } = input;
  const tool = snapshot.tool;
  const error = snapshot.error ?? tool?.error;
  const failure: Failure | undefined = error && { type: error.type, message: error.message };
  return {
    name: `execute_tool ${tool?.name ?? 'unknown'}`,
    startUnixNano: BigInt(snapshot.time.startUnixNano),
    endUnixNano: BigInt(snapshot.time.endUnixNano),
    attributes: {
      ...orangeboxAttributes(input),
      [GEN_AI.operationName]: 'execute_tool',
      [GEN_AI.toolName]: tool?.name ?? 'unknown',
      [GEN_AI.toolType]: 'function',
      ...(tool?.callId === undefined ? {} : { [GEN_AI.toolCallId]: tool.callId }),
      ...(snapshot.session ? { [GEN_AI.conversationId]: snapshot.session.id } : {}),
      ...agentAttributes(snapshot),
      ...(failure ? { [HTTP_ATTR.errorType]: failure.type } : {}),
      ...(options.captureContent && tool?.arguments !== undefined
        ? { [GEN_AI.toolCallArguments]: tool.arguments }
        : {}),
      ...(options.captureContent && tool?.result !== undefined ? { [GEN_AI.toolCallResult]: tool.result } : {}),
    },
    status: statusOf(failure),
    ...(error ? { error } : {}),
  };
}

/** Nanoseconds from the call's start to the first body chunk of its last attempt. */
export function timeToFirstChunkNano(snapshot: Pick<Snapshot, 'time' | 'exchanges'>): bigint | undefined {
  const last = snapshot.exchanges.at(-1);
  const first = last?.response?.chunks[0];
  if (!last || !first) return undefined;
  const nano = BigInt(last.startUnixNano) - BigInt(snapshot.time.startUnixNano) + BigInt(first.offsetNano);
  return nano < 0n ? 0n : nano;
}

/** Whether a call's span ends as failed. */
export function isFailed(
  error: ErrorInfo | undefined,
  last: Exchange | undefined,
  response: ResponseView | undefined,
): boolean {
  return failureOf(error, last, response) !== undefined;
}

interface Failure {
  type: string;
  message?: string;
}

/** Why a call counts as failed. A program that stops reading an answer has not failed. */
function failureOf(
  error: ErrorInfo | undefined,
  last: Exchange | undefined,
  response: ResponseView | undefined,
): Failure | undefined {
  const status = last?.response?.status ?? 0;
  if (status >= 400) return { type: String(status), ...messageOf(response?.error?.message) };
  const broken = last && brokenBy(last, error);
  if (broken) return broken;
  // An error frame in a stream of status 200.
  if (response?.error) {
    return { type: response.error.type ?? response.error.code ?? 'error', ...messageOf(response.error.message) };
  }
  return undefined;
}

/**
 * Why an exchange broke off. Clients tear a connection down for a timeout and for an abort, and then speak of a reset
 * or of each other: there the ending is the word that holds for all of them.
 */
function brokenBy({ ending, error: own }: Exchange, error = own): Failure | undefined {
  switch (ending) {
    case 'caller_stopped_reading':
      return undefined;
    case 'timeout':
    case 'caller_abort':
      return { type: ending, ...messageOf(error?.message) };
    default:
      if (error) return { type: errorType(error), ...messageOf(error.message) };
      return ending === 'complete' || ending === 'upgraded' ? undefined : { type: ending };
  }
}

function messageOf(message: string | undefined): { message?: string } {
  return message ? { message: message.slice(0, 1024) } : {};
}

/** A code such as `ECONNREFUSED` says more than the class that wraps it (`TypeError` for every fetch failure). */
function errorType(error: { type: string; code?: string }): string {
  return error.code !== undefined && /^[A-Z][A-Z0-9_]+$/.test(error.code) ? error.code : error.type || 'error';
}

function statusOf(failure: Failure | undefined): SpanStatus {
  if (!failure) return { code: 'unset' };
  return { code: 'error', ...(failure.message === undefined ? {} : { message: failure.message }) };
}

function attemptFacts(spanId: string, exchange: Exchange, attempt: number): AttemptSpanFacts {
  const status = exchange.response?.status;
  const failed = (status ?? 0) >= 400 ? { type: String(status) } : brokenBy(exchange);
  const startUnixNano = BigInt(exchange.startUnixNano);
  return {
    spanId,
    name: exchange.request.method,
    startUnixNano,
    endUnixNano: startUnixNano + BigInt(exchange.endOffsetNano),
    attributes: {
      [HTTP_ATTR.requestMethod]: exchange.request.method,
      [HTTP_ATTR.urlFull]: exchange.request.url,
      ...serverAttributes(exchange.request.url),
      ...(attempt > 0 ? { [HTTP_ATTR.requestResendCount]: attempt } : {}),
      ...(status === undefined ? {} : { [HTTP_ATTR.responseStatusCode]: status }),
      ...(failed === undefined ? {} : { [HTTP_ATTR.errorType]: failed.type }),
    },
    status: statusOf(failed),
  };
}

function callSpanName(call: CallView | undefined, last: Exchange | undefined): string {
  if (!call) return last?.request.method ?? 'HTTP';
  return call.requestModel ? `${call.operation} ${call.requestModel}` : call.operation;
}

function orangeboxAttributes(input: { snapshot: Snapshot; key?: string; sizeBytes: number }): SpanAttributes {
  const { snapshot, key, sizeBytes } = input;
  const { session, fidelity } = snapshot;
  const attributes: SpanAttributes = {};
  if (key !== undefined) attributes[ATTR.snapshotKey] = key;
  attributes[ATTR.snapshotDigest] = snapshot.digest;
  attributes[ATTR.snapshotSize] = sizeBytes;
  attributes[ATTR.snapshotFidelity] = fidelity.level;
  if (fidelity.level === 'partial') attributes[ATTR.snapshotFidelityReason] = fidelity.reason;
  if (session) {
    attributes[ATTR.sessionId] = session.id;
    attributes[ATTR.sessionSeq] = session.seq;
    attributes[ATTR.sessionBasis] = session.basis;
  }
  return attributes;
}

/** The innermost agent around the call. */
function agentAttributes(snapshot: Snapshot): SpanAttributes {
  const agent = snapshot.scope.findLast((frame) => frame.kind === 'agent');
  return agent ? { [GEN_AI.agentName]: agent.name } : {};
}

function serverAttributes(url: string): SpanAttributes {
  const parsed = originOf(url);
  if (!parsed) return {};
  const { hostname, port, protocol } = parsed;
  const address = hostname.replace(/^\[|\]$/g, '');
  return {
    [HTTP_ATTR.serverAddress]: address,
    [HTTP_ATTR.serverPort]: port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port),
  };
}

function originOf(url: string): URL | undefined {
  try {
    return new URL(url);
  } catch {
    return undefined;
  }
}
