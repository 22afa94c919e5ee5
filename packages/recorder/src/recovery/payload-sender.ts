/** Hands payloads of other processes to a shipper and tells what became of each. */
import { afterMs } from '../timers.ts';
import type { Shipper, ShipperHost, ShipItem } from '../shipper.ts';
import { AwaitedItems } from './awaited-items.ts';

/** What became of a payload. */
export type SendResult =
  | { kind: 'sent' }
  | { kind: 'refused'; reason: string }
  /** It can't be read back, or has no agreed form. */
  | { kind: 'lost' }
  /** Nothing more is sent: it stays for later. */
  | { kind: 'left' };

/** Sends payloads, a few at a time. */
export interface PayloadSender {
  /** Settles when the endpoint has answered for good, or nobody waits any more. Never rejects. */
  send(item: ShipItem): Promise<SendResult>;
  /** From now on nothing is begun; what is under way is `left` unless it is answered. */
  stop(): void;
  readonly isStopped: boolean;
  /** How many may be under way at once. */
  readonly concurrency: number;
}

/** Makes the shipper. */
export type MakeShipper = (host: ShipperHost) => Shipper;

/** Codes of a shipper that say that the endpoint takes nothing now. */
const HOPELESS: ReadonlySet<string> = new Set(['payload_endpoint', 'payload_unreachable']);

/** A sender with a shipper of its own. */
export class ShippingSender implements PayloadSender {
  readonly concurrency: number = 32;
  readonly #makeShipper: MakeShipper;
  readonly #onTrouble: (code: string, message: string) => void;
  readonly #stopsAtTrouble: boolean;
  readonly #awaited = new AwaitedItems();
  #shipper: Shipper | undefined;
  #isStopped = false;
  #isFailing = false;

  /** @param stopsAtTrouble an endpoint that is not there, or is wrong, is not waited for */
  constructor(
    makeShipper: MakeShipper,
    onTrouble: (code: string, message: string) => void,
    { stopsAtTrouble }: { stopsAtTrouble: boolean },
  ) {
    this.#makeShipper = makeShipper;
    this.#onTrouble = onTrouble;
    this.#stopsAtTrouble = stopsAtTrouble;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  send(item: ShipItem): Promise<SendResult> {
    if (this.#isStopped) return Promise.resolve({ kind: 'left' });
    this.#shipper ??= this.#makeShipper(this.#shipperHost());
    return this.#awaited.offer(this.#shipper, item);
  }

  stop(): void {
    this.#isStopped = true;
    this.#awaited.leaveAll();
  }

  /** What is under way is waited for, unless the endpoint fails anyhow. */
  finish(timeoutMs: number): void {
    if (this.#isFailing) this.stop();
    else afterMs(timeoutMs, () => this.stop()).unref();
  }

  #shipperHost(): ShipperHost {
    return {
      acknowledged: (key) => {
        this.#isFailing = false;
        this.#awaited.settle(key, { kind: 'sent' });
      },
      quarantined: (key, reason) => void this.#awaited.settle(key, { kind: 'refused', reason }),
      gaveUp: (key, kind) => void this.#awaited.settle(key, { kind }),
      report: (code, message) => {
        this.#onTrouble(code, message);
        if (!HOPELESS.has(code)) return;
        this.#isFailing = true;
        if (this.#stopsAtTrouble) this.stop();
      },
    };
  }
}
