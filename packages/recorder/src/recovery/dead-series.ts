/**
 * Series of processes that have ended, as a sidecar sees them. Each is completed and its spans are exported in its turn; its
 * payloads go out beside what comes next, so that an endpoint that takes none holds up nothing else.
 */
import { nowMs } from '../timers.ts';
import type { Claim } from './claims.ts';
import type { PayloadSender } from './payload-sender.ts';
import { recoverIfNeeded } from './recover-directory.ts';
import type { RecoveryCounts, RecoveryHost, SpanSender } from './recover-series.ts';
import type { SameThread } from './same-thread.ts';
import type { Series } from './series-files.ts';

/** What it tells. */
export interface DeadSeriesEvents {
  onRecovered(series: string, counts: RecoveryCounts): void;
  /** A series failed; the next look may not. */
  onFault(error: unknown): void;
}

/** Series whose payloads are under way at once; each has as many as the sender allows. */
const SENDING_MAX = 4;
/** An endpoint that took no spans is left alone for this long, since every try reads the series anew. */
const SPANS_PAUSE_MS = 30_000;

/** Recovers them. */
export class DeadSeries {
  readonly #host: RecoveryHost & { payloads: PayloadSender };
  readonly #events: DeadSeriesEvents;
  readonly #underWay = new Map<string, Promise<void>>();
  /** Series that brought us down: another try would do the same. */
  readonly #faulty = new Set<string>();
  #spansNotBeforeMs = 0;
  /** The payloads of some series wait for the next look, as there are many. */
  hasPostponed = false;

  constructor(host: RecoveryHost & { payloads: PayloadSender }, events: DeadSeriesEvents) {
    this.#host = host;
    this.#events = events;
  }

  /**
   * Settles when a series is completed and its spans were offered, under the claim that is held or a new one.
   * @throws OrangeboxError `OBX_RECOVER_NOT_WRITABLE`
   */
  look(series: Series, sameThread: SameThread, held?: Claim): Promise<void> {
    const { name } = series;
    if (this.#underWay.has(name) || this.#faulty.has(name)) return Promise.resolve();
    return new Promise((resolve, reject) => {
      let isCompleted = false;
      const onCompleted = (): void => {
        isCompleted = true;
        resolve();
      };
      const one = recoverIfNeeded(series, { ...this.#hostNow(), sameThread, onCompleted }, held)
        .then((counts) => {
          if (typeof counts === 'object') this.#events.onRecovered(name, counts);
        })
        .catch((error: unknown) => {
          if (isCompleted) this.#events.onFault(error);
          else reject(error);
        })
        .finally(() => {
          this.#underWay.delete(name);
          resolve();
        });
      this.#underWay.set(name, one);
    });
  }

  /** Settles when nothing is under way. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.race(this.#underWay.values());
  }

  #hostNow(): RecoveryHost {
    const { payloads, spans, ...rest } = this.#host;
    const hasPlace = this.#underWay.size < SENDING_MAX;
    if (!hasPlace) this.hasPostponed = true;
    return {
      ...rest,
      onFault: (series, error) => {
        this.#faulty.add(series);
        this.#events.onFault(error);
      },
      ...(hasPlace ? { payloads } : {}),
      ...(spans && nowMs() >= this.#spansNotBeforeMs ? { spans: this.#noted(spans) } : {}),
    };
  }

  #noted(spans: SpanSender): SpanSender {
    return {
      send: async (...batch) => {
        const isAccepted = await spans.send(...batch);
        if (!isAccepted) this.#spansNotBeforeMs = nowMs() + SPANS_PAUSE_MS;
        return isAccepted;
      },
    };
  }
}
