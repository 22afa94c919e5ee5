/** Loads the payload exporter when the first snapshot is ready; programs without an endpoint never load it. */
import type { RecorderConfig } from './config.ts';
import { messageOf } from './report.ts';
import { monotonicMs, nowMs } from './timers.ts';
import type { Shipper, ShipperHost, ShipperStats, ShipItem } from './shipper.ts';

/** A shipper that is there from the start and works once it is loaded. */
export class LazyShipper implements Shipper {
  readonly #config: RecorderConfig;
  readonly #host: ShipperHost;
  #waiting: ShipItem[] = [];
  #shipper: Shipper | undefined;
  /** Offered after loading failed: they stay in the segment. */
  #unsent: number | undefined;
  #loading: Promise<void> | undefined;
  #waitingSinceMs: number | undefined;

  constructor(config: RecorderConfig, host: ShipperHost) {
    this.#config = config;
    this.#host = host;
  }

  offer(item: ShipItem, snapshotJsonNow?: () => Uint8Array): void {
    if (this.#shipper) {
      this.#shipper.offer(item, snapshotJsonNow);
      return;
    }
    if (this.#unsent !== undefined) {
      this.#unsent++;
      this.#host.gaveUp?.(item.key, 'left');
      return;
    }
    this.#waiting.push(item);
    this.#waitingSinceMs ??= nowMs();
    this.#loading ??= this.#load();
  }

  async flush(timeoutMs: number): Promise<void> {
    const start = monotonicMs();
    await this.#loading;
    await this.#shipper?.flush(Math.max(0, timeoutMs - (monotonicMs() - start)));
  }

  stats(): ShipperStats {
    const pending = this.#waiting.length;
    const failed = this.#unsent ?? 0;
    return (
      this.#shipper?.stats() ?? {
        offered: pending + failed,
        shipped: 0,
        failed,
        pending,
        inFlightBytes: 0,
        ...(pending > 0 && this.#waitingSinceMs !== undefined ? { oldestUnsentMs: this.#waitingSinceMs } : {}),
      }
    );
  }

  async #load(): Promise<void> {
    try {
      const { createShipper } = await import('./shipping/payload-shipper.ts');
      const shipper = createShipper(this.#config, this.#host);
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const item of waiting) shipper.offer(item);
      this.#shipper = shipper;
    } catch (error) {
      const unsent = this.#waiting;
      this.#unsent = unsent.length;
      this.#waiting = [];
      for (const { key } of unsent) this.#host.gaveUp?.(key, 'left');
      this.#host.report('shipper_load', `payloads cannot be sent: ${messageOf(error)}; they stay in the segment`);
    }
  }
}
