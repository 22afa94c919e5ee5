/** Payloads that are made in pieces, beside those that are made at once. */
import { isInPieces, type OpenSnapshot, type ShipItem } from '../shipper.ts';
import { monotonicMs, nextTurn } from '../timers.ts';
import { compressInPieces, compressSnapshot, type Payload, type PayloadFacts } from './parts.ts';
import type { WaitingItem } from './waiting-items.ts';

/** The program has ended but for us. */
export class Abandoned extends Error {
  override readonly name = 'Abandoned';
}

/** What is held of a payload in pieces: one part, and what is read and compressed at a time. */
const HELD_MAX_BYTES = 10 * 1024 * 1024;
/** How long reading may hold the program at a time. */
const SLICE_MS = 1;

/** Whether a payload is made in pieces. */
export function isLarge(item: ShipItem): boolean {
  return item.openSnapshot !== undefined && isInPieces(item.sizeBytes);
}

/** Uncompressed bytes that sending an item holds at most. */
export function heldBytes(item: ShipItem): number {
  return isLarge(item) ? Math.min(item.sizeBytes, HELD_MAX_BYTES) : item.sizeBytes;
}

/** The payload of an item, read anew unless its JSON is at hand. Rejects when the segment does not hold it any more. */
export async function payloadFor(
  waiting: WaitingItem,
  readNow: (() => Uint8Array) | undefined,
  signal: AbortSignal,
): Promise<Payload> {
  const { item } = waiting;
  if (!isLarge(item) || !item.openSnapshot) return compressSnapshot(nowOf(readNow) ?? (await item.readSnapshotJson()));
  const payload = await payloadInPieces(item.openSnapshot(), waiting.facts, signal);
  const { sha256, partCount } = payload;
  if (partCount > 1) waiting.facts = { sha256, partCount };
  return payload;
}

/** What is at hand; undefined where it can't be made of that, and the segment has to be read. */
function nowOf(readNow: (() => Uint8Array) | undefined): Uint8Array | undefined {
  try {
    return readNow?.();
  } catch {
    return undefined;
  }
}

/** Reads a snapshot in small steps, then compresses it in pieces; see {@link compressInPieces}. */
export async function payloadInPieces(
  steps: OpenSnapshot,
  known?: PayloadFacts,
  signal?: AbortSignal,
): Promise<Payload> {
  return compressInPieces(await opened(steps, signal), known, signal);
}

async function opened<T>(steps: Generator<void, T, void>, signal: AbortSignal | undefined): Promise<T> {
  for (;;) {
    signal?.throwIfAborted();
    const until = monotonicMs() + SLICE_MS;
    do {
      const step = steps.next();
      if (step.done === true) return step.value;
    } while (monotonicMs() < until);
    await new Promise<void>((resolve) => void nextTurn(resolve));
  }
}
