/**
 * The payloads that wait to be sent, oldest first, except that one which keeps failing never blocks the others: once others were
 * taken while it was not, it has pauses of its own.
 */
import { appendAll } from '@orangebox/codec';
import type { ShipItem } from '../shipper.ts';
import type { PayloadFacts } from './parts.ts';

/** An item and what happened to it so far. */
export interface WaitingItem {
  readonly item: ShipItem;
  /** Tries that failed for a reason which may lie with the endpoint. */
  failures: number;
  /** When it first failed. */
  failingSinceMs: number;
  /** Payloads that the endpoint had taken when this one first failed. */
  acceptedAtFirstFailure: number;
  /** Not to be tried before; 0 for an item that has no pause of its own. */
  notBeforeMs: number;
  /** A request that it shared with others was not accepted: it may have been the reason. */
  isAlone: boolean;
  /** Parts that were acknowledged, of the payload with this digest. */
  acknowledged?: { payloadSha256: string; parts: Set<number> };
  /** Of a payload in several parts, from its first try. */
  facts?: PayloadFacts;
}

/** An item that has not been tried. */
export function newItem(item: ShipItem): WaitingItem {
  return { item, failures: 0, failingSinceMs: 0, acceptedAtFirstFailure: 0, notBeforeMs: 0, isAlone: false };
}

/** Failures after which an item stands behind the others. */
export const FAILURES_BEFORE_YIELDING = 3;

/** The queue. */
export interface WaitingItems {
  readonly size: number;
  add(waiting: WaitingItem): void;
  /** Puts a failed item back: in front, behind all others when it failed often, or aside until its own pause is over. */
  putBack(waiting: WaitingItem): void;
  /** The item that is next, left in place; undefined when none is or all have pauses of their own. */
  peek(nowMs: number): WaitingItem | undefined;
  take(nowMs: number): WaitingItem | undefined;
  /** When the first of those with pauses of their own is due; undefined when there is none. */
  dueMs(): number | undefined;
  /** The endpoint works again: items that had been moved behind get their turn, oldest first. */
  recovered(): void;
  /** Ends the items' own pauses. */
  hurry(): void;
}

/** An empty queue. */
export function createWaitingItems(): WaitingItems {
  const front: WaitingItem[] = [];
  const fresh: WaitingItem[] = [];
  const behind: WaitingItem[] = [];
  /** In the order in which they are due. */
  const aside: WaitingItem[] = [];
  const next = (nowMs: number): WaitingItem[] => {
    const [due] = aside;
    if (front.length > 0) return front;
    if (due !== undefined && due.notBeforeMs <= nowMs) return aside;
    return fresh.length > 0 ? fresh : behind;
  };
  return {
    get size() {
      return front.length + fresh.length + behind.length + aside.length;
    },
    add: (waiting) => void fresh.push(waiting),
    putBack(waiting) {
      if (waiting.notBeforeMs > 0) {
        const after = aside.findLastIndex((other) => other.notBeforeMs <= waiting.notBeforeMs);
        aside.splice(after + 1, 0, waiting);
      } else if (waiting.failures > 0 && waiting.failures % FAILURES_BEFORE_YIELDING === 0) behind.push(waiting);
      else front.push(waiting);
    },
    peek: (nowMs) => next(nowMs)[0],
    take: (nowMs) => next(nowMs).shift(),
    dueMs: () => aside[0]?.notBeforeMs,
    recovered() {
      if (behind.length > 0) appendAll(front, behind.splice(0));
    },
    hurry() {
      for (const waiting of aside) waiting.notBeforeMs = 0;
    },
  };
}
