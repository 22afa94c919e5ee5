import type { WireExchange, WireExchangeStart } from '@orangebox/recorder';
import { expect, it } from 'vitest';
import { markTurns, nextDelivery } from './clock.ts';
import { ExchangeTap } from './exchange-tap.ts';

markTurns();

/** A tap of a run, whose places are noted: how many numbers each is behind the one before. */
function placed(): {
  tap: ExchangeTap;
  socket: { bytesRead: number; push(chunk: unknown): boolean };
  steps: () => number[];
} {
  const places: number[] = [];
  const exchange = {
    responseHead: ({ delivery }: { delivery: number }) => places.push(delivery),
    responseChunk: (_bytes: Uint8Array, _at: number, delivery: number) => places.push(delivery),
    end: ({ delivery }: { delivery?: number }) => places.push(delivery ?? Number.NaN),
  } as unknown as WireExchange;
  const tap = new ExchangeTap(
    {
      open: () => exchange,
      fault: (place, error) => {
        throw new Error(place, { cause: error });
      },
      openTaps: new Set(),
      leaving() {},
      dropped() {},
      isRun: true,
    },
    { method: 'GET', url: 'http://127.0.0.1/' } as WireExchangeStart,
  );
  const socket = { bytesRead: 0, push: (_chunk: unknown) => true };
  tap.socket(socket);
  return { tap, socket, steps: () => places.slice(1).map((place, i) => place - (places[i] ?? 0)) };
}

const head = { status: 200, statusText: 'OK', headers: [] };
const bytes = Uint8Array.of(1);
/** The platform's callback is through. */
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

it('what a paused client had read already has the place of what came with it, however late it is asked for', async () => {
  const { tap, socket, steps } = placed();
  socket.bytesRead = 100;
  tap.responseHead(head);
  tap.responseChunk(bytes);
  tap.paused = true;
  await turn();
  tap.responseChunk(bytes);
  tap.end({ ending: 'complete', stage: 'done' });
  expect(steps()).toEqual([1, 0, 0]);
});

it('what is read later begins a turn, paused or not', async () => {
  const { tap, socket, steps } = placed();
  socket.bytesRead = 100;
  tap.responseHead(head);
  await turn();
  socket.bytesRead = 200;
  tap.responseChunk(bytes);
  tap.paused = true;
  await turn();
  socket.bytesRead = 300;
  tap.end({ ending: 'complete', stage: 'done' });
  expect(steps()).toEqual([2, 2]);
});

it('what comes to a paused client has the place where it came, and leaves two numbers out', async () => {
  const { tap, socket, steps } = placed();
  socket.bytesRead = 100;
  tap.responseHead(head);
  tap.responseChunk(bytes);
  tap.paused = true;
  await turn();
  socket.bytesRead = 200;
  socket.push(bytes);
  await turn();
  socket.bytesRead = 300;
  socket.push(bytes);
  await turn();
  // Something else comes before the client goes on.
  nextDelivery();
  tap.paused = false;
  tap.isResuming = true;
  tap.responseChunk(bytes);
  tap.responseChunk(bytes);
  tap.isResuming = false;
  await turn();
  socket.bytesRead = 400;
  socket.push(bytes);
  tap.end({ ending: 'complete', stage: 'done' });
  expect(steps()).toEqual([1, 3, 0, 4]);
});
