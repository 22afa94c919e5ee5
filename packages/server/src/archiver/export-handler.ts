/** `POST /v1/traces`: from a request to its answer. A 200 is given only when all that it carried is stored. */
import type { IncomingMessage } from 'node:http';
import { OrangeboxError } from '@orangebox/schema';
import { type PayloadEvent, readTraceRequest, type TraceRequest, type TraceRequestLimits } from '@orangebox/store';
import { type KeeperHost, keepPart } from './keeper.ts';
import type { ArchiverLog } from './log.ts';
import { Booking, type ByteAccount } from './memory.ts';
import type { ArchiverMetrics } from './metrics.ts';
import { exportResponse, type OtlpEncoding, RPC_CODE, statusBody } from './otlp-answer.ts';
import { readJsonRequest } from './otlp-json.ts';
import { checkPart, PayloadFault } from './payload.ts';
import type { Quarantine } from './quarantine.ts';
import { BodyError, readBody } from './request-body.ts';

/** An answer to be sent. */
export interface Answer {
  status: number;
  body: Buffer;
  headers?: Record<string, string>;
  /** The request's body was not read to its end. */
  closes?: boolean;
}

/** What the handler works with. */
export interface ExportHost {
  requests: ByteAccount;
  requestMaxBytes: number;
  keeper: KeeperHost;
  quarantine: Quarantine;
  metrics: ArchiverMetrics;
  log: ArchiverLog;
}

const REQUEST_LIMITS: TraceRequestLimits = { fields: 1_000_000, events: 10_000 };
/** Events of one request that are worked on at once. */
const EVENTS_AT_ONCE = 16;
/** Bytes that JSON takes beside its text: the string, the parsed values, the decoded bodies. */
const JSON_FACTOR = 3;

/** Answers a request whose sender may send. Never rejects. */
export async function handleExport(
  request: IncomingMessage,
  encoding: OtlpEncoding,
  host: ExportHost,
): Promise<Answer> {
  const booking = new Booking(host.requests);
  try {
    const body = await readBody(request, booking, maxBytesOf(encoding, host));
    if (encoding === 'json' && !booking.tryTake(body.length * JSON_FACTOR)) return unavailable(encoding, 'busy', 1);
    host.metrics.requestBytes(body.length);
    return await keepAll(decode(body, encoding), encoding, host);
  } catch (error) {
    return answerTo(error, encoding, host);
  } finally {
    booking.close();
  }
}

/** Bytes that a request may have; of JSON only as much as fits with all that it becomes. */
export function maxBytesOf(encoding: OtlpEncoding, { requests, requestMaxBytes }: ExportHost): number {
  if (encoding === 'protobuf') return requestMaxBytes;
  return Math.min(requestMaxBytes, Math.floor(requests.capacityBytes / (1 + JSON_FACTOR)));
}

/** A request that is no OTLP. */
class RequestError extends Error {}

function decode(body: Buffer, encoding: OtlpEncoding): TraceRequest {
  try {
    return encoding === 'json' ? readJsonRequest(body, REQUEST_LIMITS) : readTraceRequest(body, REQUEST_LIMITS);
  } catch (cause) {
    const why = cause instanceof RangeError ? cause.message : `no ExportTraceServiceRequest in ${encoding}`;
    throw new RequestError(`the body cannot be read: ${why}`, { cause });
  }
}

/** Faults of a request's events, for its one answer. */
interface Faults {
  quarantined: number;
  rejected: number;
  first: string;
}

async function keepAll({ events, spanCount }: TraceRequest, encoding: OtlpEncoding, host: ExportHost): Promise<Answer> {
  if (spanCount > events.length) host.metrics.ignoredSpans(spanCount - events.length);
  const faults: Faults = { quarantined: 0, rejected: 0, first: '' };
  let next = 0;
  let isFailed = false;
  const work = async (): Promise<void> => {
    for (;;) {
      const event = isFailed ? undefined : events[next++];
      if (event === undefined) return;
      try {
        await keepOne(event, faults, host);
      } catch (error) {
        // What the store does not take now is sent again, all of it: what is stored already is a duplicate then.
        isFailed = true;
        throw error;
      }
    }
  };
  const workers = Array.from({ length: Math.min(EVENTS_AT_ONCE, events.length) }, work);
  // All have to be done with the request's bytes before they are given back.
  const failed = (await Promise.allSettled(workers)).find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
  if (faults.rejected > 0) {
    return { status: 400, body: statusBody(encoding, RPC_CODE.invalidArgument, `not kept: ${faults.first}`) };
  }
  const rejected =
    faults.quarantined > 0 ? { spans: faults.quarantined, message: `quarantined: ${faults.first}` } : undefined;
  return { status: 200, body: exportResponse(encoding, rejected) };
}

async function keepOne(event: PayloadEvent, faults: Faults, host: ExportHost): Promise<void> {
  const { metrics, log } = host;
  try {
    const part = await checkPart(event);
    const outcome = await keepPart(part, host.keeper);
    metrics.kept(outcome, part.bytes.length);
    if (outcome === 'conflict' || outcome === 'repaired') log.warn(`payload_${outcome}`, { key: part.key });
  } catch (fault) {
    if (!(fault instanceof PayloadFault)) throw fault;
    const isKept = await host.quarantine.put(event, fault);
    if (isKept) metrics.quarantined(fault.reason);
    else metrics.rejected(fault.reason);
    faults[isKept ? 'quarantined' : 'rejected'] += 1;
    if (faults.first === '') faults.first = `${fault.reason}: ${fault.message}`;
    log.warn(isKept ? 'payload_quarantined' : 'payload_rejected', { reason: fault.reason, message: fault.message });
  }
}

function answerTo(error: unknown, encoding: OtlpEncoding, host: ExportHost): Answer {
  if (error instanceof BodyError) return answerToBody(error, encoding);
  if (error instanceof RequestError) {
    return { status: 400, body: statusBody(encoding, RPC_CODE.invalidArgument, error.message) };
  }
  if (error instanceof OrangeboxError) return unavailable(encoding, `the store failed (${error.code})`, 5);
  host.log.warn('internal_fault', { message: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  return unavailable(encoding, 'internal fault', 5);
}

function answerToBody(error: BodyError, encoding: OtlpEncoding): Answer {
  const refuse = (status: number, code: number): Answer => ({
    status,
    body: statusBody(encoding, code, error.message),
    closes: true,
  });
  switch (error.fault) {
    case 'too_large':
      return refuse(413, RPC_CODE.resourceExhausted);
    case 'encoding':
      return refuse(415, RPC_CODE.unimplemented);
    case 'no_memory':
      return { ...unavailable(encoding, error.message, 1), closes: true };
    case 'aborted':
    case 'damaged':
      return refuse(400, RPC_CODE.invalidArgument);
  }
}

/** 503 with `Retry-After`: nothing was acknowledged. */
export function unavailable(encoding: OtlpEncoding, message: string, retryAfterSeconds: number): Answer {
  return {
    status: 503,
    body: statusBody(encoding, RPC_CODE.unavailable, message),
    headers: { 'retry-after': String(retryAfterSeconds) },
  };
}
