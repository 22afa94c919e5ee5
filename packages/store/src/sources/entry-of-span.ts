/** What a list shows of a call, from its span alone. */
import {
  ATTR,
  type CallSummary,
  type Ending,
  type Fidelity,
  type FidelityReason,
  formatSnapshotKey,
  GEN_AI,
  HTTP_ATTR,
  parseSnapshotKey,
  type SessionBasis,
  type SessionRef,
} from '@orangebox/schema';
import type { StoredEntry } from '../store.ts';
import type { SourceSpan, SpanAttribute } from './trace-source.ts';

/** Attributes of which a call or a tool execution has one at least; its attempts and all other spans have none. */
const ENTRY_ATTRIBUTES = [ATTR.snapshotKey, ATTR.snapshotDigest, ATTR.snapshotFidelity];

const REASONS: readonly FidelityReason[] = [
  'body_limit',
  'memory_limit',
  'process_died',
  'content_redacted',
  'no_storage',
  'not_sampled',
];
const BASES: readonly SessionBasis[] = ['declared', 'inferred', 'ambiguous'];
const ENDINGS: readonly Ending[] = [
  'connect_failed',
  'reset',
  'cut',
  'timeout',
  'caller_abort',
  'process_exit',
  'process_died',
  'error',
];
const CONNECT_CODES =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|CERT_|ERR_TLS_)/;

/** Whether the span is of a call or of a tool execution. */
export function isEntrySpan(span: SourceSpan): boolean {
  // Placeholders of a span that was cut off before its end are empty.
  return ENTRY_ATTRIBUTES.some((name) => text(span, name) !== undefined);
}

/** The entry of a call's or tool's span, `ref` still empty; `attempts` are the spans of its attempts, oldest first. */
export function entryOfSpan(span: SourceSpan, attempts: readonly SourceSpan[], location: string): StoredEntry {
  const key = ownKeyOf(span);
  const isTool = text(span, GEN_AI.operationName) === 'execute_tool';
  const url = text(span, HTTP_ATTR.urlFull);
  const session = sessionOf(span);
  const agent = text(span, GEN_AI.agentName);
  const failure = failureOf(span);
  const sizeBytes = number(span, ATTR.snapshotSize);
  const digest = text(span, ATTR.snapshotDigest);
  const method = text(span, HTTP_ATTR.requestMethod);
  return {
    ref: '',
    ...(key === undefined ? {} : { key }),
    kind: isTool ? 'tool' : url === undefined ? 'llm' : 'http',
    trace: {
      traceId: span.traceId,
      spanId: span.spanId,
      ...(span.parentSpanId === undefined ? {} : { parentSpanId: span.parentSpanId }),
      sampled: true,
    },
    ...(session ? { session } : {}),
    scope: agent === undefined ? [] : [{ kind: 'agent', name: agent, id: '' }],
    time: { startUnixNano: span.startUnixNano, endUnixNano: span.endUnixNano },
    ...(isTool ? { tool: toolOf(span) } : { summary: summaryOf(span, attempts.length) }),
    ...(failure ? { error: failure } : {}),
    fidelity: fidelityOf(span),
    status: key === undefined ? 'not_kept' : 'promised',
    ...(sizeBytes === undefined || sizeBytes === 0 ? {} : { sizeBytes }),
    ...(digest === undefined ? {} : { digest }),
    ...(attempts.length > 0 ? { attemptSpanIds: attempts.map((attempt) => attempt.spanId) } : {}),
    process: {
      pid: numberIn(span.resource, 'process.pid') ?? 0,
      threadId: 0,
      host: textIn(span.resource, 'host.name') ?? '',
      serviceName: textIn(span.resource, 'service.name') ?? 'unknown_service',
    },
    ...(method !== undefined && url !== undefined ? { request: { method, url } } : {}),
    location,
  };
}

/** The key on a span. That of another call is none: whoever writes spans could show any snapshot as that of this one. */
export function ownKeyOf(span: SourceSpan): string | undefined {
  const parts = parseSnapshotKey(text(span, ATTR.snapshotKey) ?? '');
  if (parts?.traceId !== span.traceId || parts.spanId !== span.spanId) return undefined;
  return formatSnapshotKey(parts);
}

function sessionOf(span: SourceSpan): SessionRef | undefined {
  const id = text(span, ATTR.sessionId);
  if (id === undefined) return undefined;
  const basis = BASES.find((known) => known === text(span, ATTR.sessionBasis)) ?? 'inferred';
  return { id, seq: number(span, ATTR.sessionSeq) ?? 0, basis };
}

function fidelityOf(span: SourceSpan): Fidelity {
  if (text(span, ATTR.snapshotFidelity) !== 'partial') return { level: 'exact' };
  const said = text(span, ATTR.snapshotFidelityReason);
  return { level: 'partial', reason: REASONS.find((known) => known === said) ?? 'no_storage' };
}

/** Whether a tool was wrapped or inferred, and which call asked for it, stands in its snapshot only. */
function toolOf(span: SourceSpan): NonNullable<StoredEntry['tool']> {
  const callId = text(span, GEN_AI.toolCallId);
  return {
    name: text(span, GEN_AI.toolName) ?? 'unknown',
    basis: 'wrapped',
    failed: span.status === 'error' || text(span, HTTP_ATTR.errorType) !== undefined,
    ...(callId === undefined ? {} : { callId }),
  };
}

function summaryOf(span: SourceSpan, attempts: number): CallSummary {
  const operation = text(span, GEN_AI.operationName);
  const provider = text(span, GEN_AI.providerName) ?? text(span, GEN_AI.system);
  const model = text(span, GEN_AI.responseModel) ?? text(span, GEN_AI.requestModel);
  const status = number(span, HTTP_ATTR.responseStatusCode);
  const inputTokens = number(span, GEN_AI.usageInputTokens);
  const outputTokens = number(span, GEN_AI.usageOutputTokens);
  const firstChunkS = numberIn(span.attributes, GEN_AI.responseTimeToFirstChunk);
  const reasons = own(span.attributes, GEN_AI.responseFinishReasons);
  const finishReasons = Array.isArray(reasons) ? reasons.filter((reason) => typeof reason === 'string') : [];
  return {
    ending: endingOf(span, status),
    attempts: Math.max(1, attempts),
    stream: own(span.attributes, GEN_AI.requestStream) === true,
    ...(operation === undefined ? {} : { operation }),
    ...(provider === undefined ? {} : { provider }),
    ...(model === undefined ? {} : { model }),
    ...(status === undefined ? {} : { status }),
    ...(inputTokens === undefined ? {} : { inputTokens }),
    ...(outputTokens === undefined ? {} : { outputTokens }),
    ...(firstChunkS === undefined || firstChunkS < 0
      ? {}
      : { timeToFirstChunkNano: String(Math.round(firstChunkS * 1e9)) }),
    ...(finishReasons.length > 0 ? { finishReasons } : {}),
  };
}

/** How the last exchange ended, as far as `error.type` tells. */
function endingOf(span: SourceSpan, status: number | undefined): Ending {
  const type = text(span, HTTP_ATTR.errorType);
  if (type === undefined || type === String(status)) return 'complete';
  const named = ENDINGS.find((ending) => ending === type);
  if (named) return named;
  if (status === undefined) return CONNECT_CODES.test(type) ? 'connect_failed' : 'error';
  // An error that the answer itself tells, in a stream of status 200, came with a whole answer.
  return /^[A-Z][A-Z0-9_]+$/.test(type) ? 'error' : 'complete';
}

/** An HTTP status is shown as such, and not as an error again. */
function failureOf(span: SourceSpan): { type: string; message: string } | undefined {
  const type = text(span, HTTP_ATTR.errorType);
  if (type === undefined || type === String(number(span, HTTP_ATTR.responseStatusCode))) return undefined;
  return { type, message: span.statusMessage ?? type };
}

function own(attributes: Readonly<Record<string, SpanAttribute>>, name: string): SpanAttribute | undefined {
  return Object.hasOwn(attributes, name) ? attributes[name] : undefined;
}

function text(span: SourceSpan, name: string): string | undefined {
  return textIn(span.attributes, name);
}

function textIn(attributes: Readonly<Record<string, SpanAttribute>>, name: string): string | undefined {
  const value = own(attributes, name);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function number(span: SourceSpan, name: string): number | undefined {
  const value = numberIn(span.attributes, name);
  return value !== undefined && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

function numberIn(attributes: Readonly<Record<string, SpanAttribute>>, name: string): number | undefined {
  const value = own(attributes, name);
  // A backend may keep numbers as text.
  const number = typeof value === 'string' && /^\d{1,15}(\.\d{1,15})?$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}
