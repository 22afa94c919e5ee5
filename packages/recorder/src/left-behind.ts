/** What earlier processes left in the directory: shipped by this one, when it has nothing of its own to ship. */
import type { Redactor } from '@orangebox/codec';
import type { RecorderConfig } from './config.ts';
import { hidden } from './otel/application-api.ts';
import { AwaitedItems } from './recovery/awaited-items.ts';
import { hasOtherSeries } from './recovery/other-series.ts';
import type { PayloadSender, SendResult } from './recovery/payload-sender.ts';
import { claimForProgram } from './recovery/program-claim.ts';
import type { Shipper, ShipItem } from './shipper.ts';
import { afterMs, platformTimers } from './timers.ts';

/** What it works with. */
export interface LeftBehindHost {
  config: RecorderConfig;
  shipper: Shipper;
  /** Name of this process' own series; undefined while it has no file. */
  ownSeries(): string | undefined;
  redactor(): Redactor;
  count(code: string): void;
}

/** A program that ends soon has other things to do. */
const START_AFTER_MS = 2000;
/** How often it is looked whether own payloads still wait. */
const LOOK_AGAIN_MS = 100;
const CONCURRENCY = 2;

/** Hands others' payloads to the shipper of this process, a few at a time. */
export class LeftBehind implements PayloadSender {
  readonly concurrency: number = CONCURRENCY;
  readonly isStopped: boolean = false;
  readonly #host: LeftBehindHost;
  readonly #awaited = new AwaitedItems();
  #isStarted = false;
  #isClaimed = false;

  constructor(host: LeftBehindHost) {
    this.#host = host;
  }

  /** A call of this process was finished: the rest may begin. Never throws. */
  callFinished(): void {
    this.#claim();
    if (this.#isStarted || !this.#host.config.recovers) return;
    this.#isStarted = true;
    hidden(() => afterMs(START_AFTER_MS, () => void this.#recover()).unref());
  }

  /** Whether it was a payload of another process. */
  acknowledged(key: string): boolean {
    return this.#awaited.settle(key, { kind: 'sent' });
  }

  /** The same of one that was refused for good. */
  quarantined(key: string, reason: string): boolean {
    return this.#awaited.settle(key, { kind: 'refused', reason });
  }

  /** One that the shipper does not try any more. */
  gaveUp(key: string, kind: 'lost' | 'left'): void {
    this.#awaited.settle(key, { kind });
  }

  async send(item: ShipItem): Promise<SendResult> {
    while (this.#hasOwnWork()) await new Promise<void>((resolve) => afterMs(LOOK_AGAIN_MS, resolve).unref());
    return this.#awaited.offer(this.#host.shipper, item);
  }

  stop(): void {}

  #hasOwnWork(): boolean {
    return this.#host.shipper.stats().pending > this.#awaited.count;
  }

  #claim(): void {
    const series = this.#isClaimed ? undefined : this.#host.ownSeries();
    if (series === undefined) return;
    this.#isClaimed = true;
    try {
      hidden(() => claimForProgram(this.#host.config.dir, series));
    } catch {
      // Without it a sidecar may send the same once more, which does no harm.
      this.#host.count('program_claim');
    }
  }

  async #recover(): Promise<void> {
    try {
      if (!(await hasOtherSeries(this.#host.config.dir, this.#host.ownSeries()))) return;
      const { recoverBeside } = await import('@orangebox/recorder/recovery');
      const { config, redactor } = this.#host;
      await recoverBeside({ config, timers: platformTimers(), redactor, payloads: this });
    } catch {
      // It is left for the next start, or for the command: this program need not know.
      this.#host.count('recovery');
    }
  }
}
