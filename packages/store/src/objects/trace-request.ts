/**
 * An `ExportTraceServiceRequest` as the archiver needs it: the payload events with all that they claim, nothing judged and
 * nothing dropped. (`readEnvelopes` reads stored objects instead and passes over what does not fit.)
 */
import { WireType } from '@bufbuild/protobuf/wire';
import { ATTR, PAYLOAD } from '@orangebox/schema';
import {
  type Attributes,
  type AttributeValue,
  eachField,
  eachMessage,
  type FieldBudget,
  readAttribute,
  readAttributes,
  textOf,
} from './otlp-wire.ts';

/** What one payload event claims. A member is undefined where it is missing or of another type. */
export interface PayloadEvent {
  /** `service.name` of the resource. */
  service: string | undefined;
  /** `orangebox.snapshot.key` of the resource, else of the span; undefined too where the two differ. */
  key: string | undefined;
  /** The part's bytes, also of base64 text (inline transport); a view of the request where possible. */
  body: Uint8Array | undefined;
  encoding: string | undefined;
  digest: string | undefined;
  payloadSha256: string | undefined;
  partSha256: string | undefined;
  /** `[0, 1]` where neither is said. */
  part: { index: number; count: number } | undefined;
}

/** A request taken apart. */
export interface TraceRequest {
  spanCount: number;
  events: PayloadEvent[];
}

/** Bounds of {@link readTraceRequest}. */
export interface TraceRequestLimits {
  /** Protobuf fields visited. */
  fields: number;
  /** Payload events. */
  events: number;
}

/**
 * Reads protobuf.
 *
 * @throws Error what is not an `ExportTraceServiceRequest`, is cut, or goes beyond a limit.
 */
export function readTraceRequest(bytes: Uint8Array, limits: TraceRequestLimits): TraceRequest {
  const request: TraceRequest = { spanCount: 0, events: [] };
  const budget: FieldBudget = { left: limits.fields };
  const readSpan = (span: Uint8Array, resource: Attributes): void => {
    request.spanCount += 1;
    const attributes: Attributes = new Map();
    // Read at once: views of a million empty events would take more than the request.
    const events: Attributes[] = [];
    eachField(
      span,
      (number, type, reader) => {
        if (number === 9 && type === WireType.LengthDelimited) readAttribute(reader.bytes(), attributes, budget);
        else if (number === 11 && type === WireType.LengthDelimited) {
          const event = readEvent(reader.bytes(), budget);
          if (event && events.push(event) > limits.events) throw tooManyEvents();
        } else reader.skip(type, number);
      },
      budget,
    );
    for (const event of events) addEvent(request, payloadEvent(resource, attributes, event), limits);
  };
  eachMessage(
    bytes,
    1,
    (resourceSpans) => {
      const resource: Attributes = new Map();
      eachMessage(resourceSpans, 1, (message) => readAttributes(message, 1, resource, budget), budget);
      eachMessage(
        resourceSpans,
        2,
        (scopeSpans) => eachMessage(scopeSpans, 2, (span) => readSpan(span, resource), budget),
        budget,
      );
    },
    budget,
  );
  return request;
}

/** The attributes of a payload event; undefined for any other event. */
function readEvent(event: Uint8Array, budget: FieldBudget): Attributes | undefined {
  let name = '';
  const attributes: Attributes = new Map();
  eachField(
    event,
    (number, type, reader) => {
      if (number === 2 && type === WireType.LengthDelimited) name = reader.string();
      else if (number === 3 && type === WireType.LengthDelimited) readAttribute(reader.bytes(), attributes, budget);
      else reader.skip(type, number);
    },
    budget,
  );
  return name === PAYLOAD.eventName ? attributes : undefined;
}

/** Adds an event within the limit, for readers of other encodings too. */
export function addEvent(request: TraceRequest, event: PayloadEvent, limits: TraceRequestLimits): void {
  if (request.events.length >= limits.events) throw tooManyEvents();
  request.events.push(event);
}

function tooManyEvents(): RangeError {
  return new RangeError('too many payload events');
}

/** A payload event of its attributes and of those around it. */
export function payloadEvent(resource: Attributes, span: Attributes, event: Attributes): PayloadEvent {
  const [outer, inner] = [textOf(resource.get(ATTR.snapshotKey)), textOf(span.get(ATTR.snapshotKey))];
  return {
    service: textOf(resource.get('service.name')),
    key: outer !== undefined && inner !== undefined && outer !== inner ? undefined : (outer ?? inner),
    body: bodyOf(event.get(PAYLOAD.body)),
    encoding: textOf(event.get(PAYLOAD.encoding)),
    digest: textOf(event.get(PAYLOAD.digest)),
    payloadSha256: textOf(event.get(PAYLOAD.payloadSha256)),
    partSha256: textOf(event.get(PAYLOAD.partSha256)),
    part: partOf(event.get(PAYLOAD.partIndex), event.get(PAYLOAD.partCount)),
  };
}

function bodyOf(value: AttributeValue | undefined): Uint8Array | undefined {
  if (typeof value !== 'string') return value instanceof Uint8Array ? value : undefined;
  const bytes = Buffer.from(value, 'base64');
  // `Buffer` passes over what is not base64; such a text is not what somebody encoded.
  return bytes.length === Math.floor((value.replace(/={1,2}$/, '').length * 3) / 4) ? bytes : undefined;
}

function partOf(
  index: AttributeValue | undefined,
  count: AttributeValue | undefined,
): { index: number; count: number } | undefined {
  if (index === undefined && count === undefined) return { index: 0, count: 1 };
  if (typeof index !== 'number' || typeof count !== 'number') return undefined;
  return { index, count };
}
