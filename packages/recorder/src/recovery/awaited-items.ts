/** Items of other processes that were handed to a shipper, and who waits for what becomes of each. */
import type { Shipper, ShipItem } from '../shipper.ts';
import type { SendResult } from './payload-sender.ts';

/** By key. */
export class AwaitedItems {
  readonly #waiting = new Map<string, (result: SendResult) => void>();

  get count(): number {
    return this.#waiting.size;
  }

  /** Settles with the first that is said of the item. */
  offer(shipper: Shipper, item: ShipItem): Promise<SendResult> {
    return new Promise((resolve) => {
      this.#waiting.set(item.key, resolve);
      shipper.offer(item);
    });
  }

  /** Says what became of one; false when nobody waits for it. */
  settle(key: string, result: SendResult): boolean {
    const resolve = this.#waiting.get(key);
    this.#waiting.delete(key);
    resolve?.(result);
    return resolve !== undefined;
  }

  /** Nobody waits any more: all that were not answered stay for later. */
  leaveAll(): void {
    for (const key of [...this.#waiting.keys()]) this.settle(key, { kind: 'left' });
  }
}
