/** The payloads that wait to be sent, oldest first, except that one which keeps failing never blocks the others. */
import type { ShipItem } from '../shipper.ts';

/** An item and what happened to it so far. */
export interface WaitingItem {
  readonly item: ShipItem;
  /** Tries that failed for a reason which may lie with the endpoint. */
  failures: number;
  /** Payloads that the endpoint had taken when this one first failed. */
  acceptedAtFirstFailure: number;
  /** Parts that were acknowledged, of the payload with this digest. */
  acknowledged?: { payloadSha256: string; parts: Set<number> };
}

/** Failures after which an item stands behind the others. */
const FAILURES_BEFORE_YIELDING = 3;

/** The queue. */
export interface WaitingItems {
  readonly size: number;
  add(waiting: WaitingItem): void;
  /** Puts a failed item back: in front, or behind all others when it failed often. */
  putBack(waiting: WaitingItem): void;
  /** The item that is next, left in place. */
  peek(): WaitingItem | undefined;
  take(): WaitingItem | undefined;
  /** The endpoint works again: items that had been moved behind get their turn, oldest first. */
  recovered(): void;
}

/** An empty queue. */
export function createWaitingItems(): WaitingItems {
  const front: WaitingItem[] = [];
  const fresh: WaitingItem[] = [];
  const behind: WaitingItem[] = [];
  const next = (): WaitingItem[] => (front.length > 0 ? front : fresh.length > 0 ? fresh : behind);
  return {
    get size() {
      return front.length + fresh.length + behind.length;
    },
    add: (waiting) => void fresh.push(waiting),
    putBack(waiting) {
      if (waiting.failures > 0 && waiting.failures % FAILURES_BEFORE_YIELDING === 0) behind.push(waiting);
      else front.push(waiting);
    },
    peek: () => next()[0],
    take: () => next().shift(),
    recovered() {
      if (behind.length > 0) front.push(...behind.splice(0));
    },
  };
}
