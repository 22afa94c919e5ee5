/** Hands payloads of other processes to a shipper and tells what became of each. */
import { afterMs } from '../timers.ts';
import type { Shipper, ShipperHost, ShipItem } from '../shipper.ts';

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
  send(item: ShipItem, serviceName: string): Promise<SendResult>;
  /** From now on nothing is begun; what is under way is `left` unless it is answered. */
  stop(): void;
  readonly isStopped: boolean;
  /** How many may be under way at once. */
  readonly concurrency: number;
}

/** Makes a shipper for a service. */
export type MakeShipper = (serviceName: string, host: ShipperHost) => Shipper;

/** Codes of a shipper that say that the endpoint takes nothing now. */
const HOPELESS: ReadonlySet<string> = new Set(['payload_endpoint', 'payload_unreachable']);

/** A sender with shippers of its own, one per service: the service stands in every request. */
export class ShippingSender implements PayloadSender {
  readonly concurrency: number = 32;
  readonly #makeShipper: MakeShipper;
  readonly #onTrouble: (code: string, message: string) => void;
  readonly #stopsAtTrouble: boolean;
  readonly #shippers = new Map<string, Shipper>();
  readonly #waiting = new Map<string, (result: SendResult) => void>();
  #isStopped = false;
  /** It takes nothing at present. */
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

  send(item: ShipItem, serviceName: string): Promise<SendResult> {
    if (this.#isStopped) return Promise.resolve({ kind: 'left' });
    return new Promise((resolve) => {
      const { key } = item;
      this.#waiting.set(key, resolve);
      const readSnapshotJson = (): Promise<Uint8Array> | Uint8Array => {
        try {
          return item.readSnapshotJson();
        } catch (error) {
          this.#settle(key, { kind: 'lost' });
          throw error;
        }
      };
      this.#shipperFor(serviceName).offer({ ...item, readSnapshotJson });
    });
  }

  stop(): void {
    this.#isStopped = true;
    for (const key of [...this.#waiting.keys()]) this.#settle(key, { kind: 'left' });
  }

  /** What is under way is waited for, unless the endpoint fails anyhow. */
  finish(timeoutMs: number): void {
    if (this.#isFailing) this.stop();
    else afterMs(timeoutMs, () => this.stop()).unref();
  }

  #settle(key: string, result: SendResult): void {
    const resolve = this.#waiting.get(key);
    this.#waiting.delete(key);
    resolve?.(result);
  }

  #shipperFor(serviceName: string): Shipper {
    const known = this.#shippers.get(serviceName);
    if (known) return known;
    const shipper = this.#makeShipper(serviceName, {
      acknowledged: (key) => {
        this.#isFailing = false;
        this.#settle(key, { kind: 'sent' });
      },
      quarantined: (key, reason) => this.#settle(key, { kind: 'refused', reason }),
      report: (code, message) => {
        this.#onTrouble(code, message);
        if (!HOPELESS.has(code)) return;
        this.#isFailing = true;
        if (this.#stopsAtTrouble) this.stop();
      },
    });
    this.#shippers.set(serviceName, shipper);
    return shipper;
  }
}
