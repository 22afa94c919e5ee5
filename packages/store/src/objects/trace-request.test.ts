import { expect, it } from 'vitest';
import { readTraceRequest } from './trace-request.ts';

/** A message in a length-delimited field. */
function field(tag: number, bytes: Uint8Array): Buffer {
  const length: number[] = [];
  for (let rest = bytes.length; ; rest = Math.floor(rest / 128)) {
    length.push(rest > 127 ? (rest % 128) | 128 : rest);
    if (rest <= 127) return Buffer.concat([Buffer.of(tag), Buffer.from(length), bytes]);
  }
}

const requestOf = (events: Uint8Array): Uint8Array => field(0x0a, field(0x12, field(0x12, events)));
const LIMITS = { fields: 1_000_000, events: 10 };

it('takes no memory for the events of a span that are no payloads', () => {
  // Two bytes each in the request, and a hundred as a view of it.
  const request = requestOf(Buffer.from('5a00'.repeat(400_000), 'hex'));
  const before = process.memoryUsage().heapUsed;
  expect(readTraceRequest(request, LIMITS)).toEqual({ spanCount: 1, events: [] });
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(20e6);
});

it('stops at the payload event that is one too many, in one span or in several', () => {
  const payload = field(0x5a, field(0x12, Buffer.from('orangebox.snapshot')));
  const span = (count: number): Buffer => Buffer.concat(Array.from({ length: count }, () => payload));
  expect(readTraceRequest(requestOf(span(10)), LIMITS).events).toHaveLength(10);
  expect(() => readTraceRequest(requestOf(span(11)), LIMITS)).toThrow('too many payload events');
  const two = field(0x0a, field(0x12, Buffer.concat([field(0x12, span(5)), field(0x12, span(6))])));
  expect(() => readTraceRequest(two, LIMITS)).toThrow('too many payload events');
});
