/** What the inline transport puts on a span. */
import { ATTR, PAYLOAD } from '@orangebox/schema';
import type { SpanAttributes } from './spans.ts';

/** The event that carries a snapshot. */
export interface PayloadEvent {
  name: string;
  /** Base64 of the gzip: `addEvent` of the API drops bytes. Also among the attributes. */
  body: string;
  attributes: SpanAttributes;
}

/** The payload of a span, or why it has none. Neither: nobody promised one. */
export interface PayloadOnSpan {
  event?: PayloadEvent;
  keptLocal?: string;
}

/** How much of a payload a span can carry. */
export interface PayloadRoom {
  /** Characters of an attribute value that are not cut; 0 when it can have no event. */
  maxChars: number;
  /** The exporter's answer will be known. */
  isAcknowledged: boolean;
}

/** The event for a whole snapshot. Both digests are over the gzip's bytes, not over their base64. */
export function payloadEvent(digest: string, gzip: Uint8Array, sha256: string): PayloadEvent {
  const body = Buffer.from(gzip.buffer, gzip.byteOffset, gzip.byteLength).toString('base64');
  return {
    name: PAYLOAD.eventName,
    body,
    attributes: {
      [PAYLOAD.body]: body,
      [PAYLOAD.encoding]: 'gzip',
      [PAYLOAD.digest]: digest,
      [PAYLOAD.payloadSha256]: sha256,
      [PAYLOAD.partIndex]: 0,
      [PAYLOAD.partCount]: 1,
      [PAYLOAD.partSha256]: sha256,
    },
  };
}

/** Facts of a span with what became of its payload. A key is promised only where the snapshot travels with it. */
export function withPayload<T extends { attributes: SpanAttributes; event?: PayloadEvent }>(
  facts: T,
  { event, keptLocal }: PayloadOnSpan,
): T {
  if (event) return { ...facts, event };
  if (keptLocal === undefined) return facts;
  return {
    ...facts,
    attributes: { ...facts.attributes, [ATTR.snapshotKey]: '', [ATTR.snapshotKeptLocal]: keptLocal },
  };
}
