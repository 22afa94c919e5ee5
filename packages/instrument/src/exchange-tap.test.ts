import { CONFIRM_BODY_MAX_BYTES, confirmBody } from '@orangebox/codec';
import type { WireExchangeStart } from '@orangebox/recorder';
import { beforeEach, expect, it, vi } from 'vitest';
import { ExchangeTap } from './exchange-tap.ts';
import { createMemorySink, type MemorySink } from './memory-sink.ts';

vi.mock('@orangebox/codec', async (importOriginal) => {
  const codec = await importOriginal<typeof import('@orangebox/codec')>();
  return { ...codec, confirmBody: vi.fn(codec.confirmBody) };
});
const confirm = vi.mocked(confirmBody);

let sink: MemorySink;
let dropped: number;

beforeEach(() => {
  sink = createMemorySink();
  dropped = 0;
  confirm.mockClear();
});

const start = { method: 'POST', url: 'http://127.0.0.1/v1/responses' } as WireExchangeStart;

function doubtful(): ExchangeTap {
  return new ExchangeTap(
    {
      open: (opened) => sink.open(opened),
      fault: (place, error) => {
        throw new Error(place, { cause: error });
      },
      openTaps: new Set(),
      leaving() {},
      dropped: () => dropped++,
    },
    start,
    ['body'],
  );
}

/** Hands over a body byte by byte. */
function trickle(tap: ExchangeTap, body: string): void {
  for (const byte of Buffer.from(body)) tap.requestChunk(Uint8Array.of(byte));
}

const lookedAt = (): number => confirm.mock.calls.reduce((sum, [bytes]) => sum + bytes.length, 0);

it('looks at a body that comes byte by byte no more than a few times its length', () => {
  const body = `{"input":"${'x'.repeat(50_000)}","model":"gpt-test"}`;
  const tap = doubtful();
  trickle(tap, body);
  tap.requestEnd();
  expect(sink.exchanges.map((e) => [e.requestBody.toString() === body, e.requestEnded])).toEqual([[true, true]]);
  expect(lookedAt()).toBeLessThan(4 * body.length);
});

it('gives up a body that tells nothing once it is long enough', () => {
  const tap = doubtful();
  trickle(tap, `{"note":"${'x'.repeat(CONFIRM_BODY_MAX_BYTES)}`);
  expect([tap.ended, dropped, sink.exchanges]).toEqual([true, 1, []]);
  expect(lookedAt()).toBeLessThan(4 * CONFIRM_BODY_MAX_BYTES);
});

it('opens a call as soon as its first chunk tells', () => {
  const tap = doubtful();
  tap.requestChunk(Buffer.from('{"model":"gpt-test","input":"hi'));
  expect(sink.exchanges).toHaveLength(1);
  tap.requestChunk(Buffer.from('"}'));
  expect(sink.exchanges[0]?.requestBody.toString()).toBe('{"model":"gpt-test","input":"hi"}');
});

it.each([
  ['the request ends', (tap: ExchangeTap): void => tap.requestEnd()],
  [
    'the server answers before it took all of it',
    (tap: ExchangeTap): void => tap.responseHead({ status: 400, statusText: '', headers: [] }),
  ],
  ['the connection breaks', (tap: ExchangeTap): void => tap.end({ ending: 'reset', stage: 'request' })],
])('looks a last time when %s', (_when, happens) => {
  const [call, other] = [doubtful(), doubtful()];
  trickle(call, '{"model":"m","input":"hi","store":false}');
  trickle(other, '{"name":"m","value":"hi","store":false}');
  happens(call);
  happens(other);
  expect([sink.exchanges.length, dropped, other.ended]).toEqual([1, 1, true]);
});
