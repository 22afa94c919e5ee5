/** A sidecar: ships what living programs do not ship themselves, and what those that ended have left. */
import { isStale, claimPath, prepareClaims, programClaimPath, readClaim, takeClaim, TOUCH_MS } from './claims.ts';
import { DeadSeries } from './dead-series.ts';
import { type FollowCounts, hasEnded, LiveSeries } from './live-series.ts';
import type { PayloadSender } from './payload-sender.ts';
import { asCodedError, findAll, isLive } from './recover-directory.ts';
import type { RecoveryCounts, RecoveryHost } from './recover-series.ts';
import { breaksOf, inSlices } from './slices.ts';
import { SameThread } from './same-thread.ts';
import type { Series } from './series-files.ts';
import { nowMs } from '../timers.ts';

/** What a sidecar tells. */
export interface FollowEvents {
  /** A living program's recordings are shipped from now on. */
  onFollow(series: string): void;
  /** They are no longer: the program ships them itself. */
  onLeave(series: string): void;
  /** Those of a process that has ended were recovered. */
  onRecovered(series: string, counts: RecoveryCounts): void;
  onSent(counts: FollowCounts): void;
  /** A look failed; the next one may not. */
  onFault(error: unknown): void;
}

const POLL_MS = 1000;

/**
 * Follows a directory until the signal; with `isOnce` until all that is there was sent. What is under way is finished.
 * @throws OrangeboxError `OBX_RECOVER_*` where the first look fails
 */
export async function followDirectory(
  host: RecoveryHost & { payloads: PayloadSender },
  events: FollowEvents,
  { isOnce = false }: { isOnce?: boolean } = {},
): Promise<void> {
  const sidecar = new Sidecar(host, events);
  try {
    await sidecar.look();
    const isTold = (): boolean => host.signal?.aborted === true;
    if (isOnce) await sidecar.settle(() => host.payloads.isStopped || isTold());
    while (!isOnce && !isTold()) {
      await pause(host.signal);
      if (isTold()) break;
      await sidecar.look().catch((error: unknown) => events.onFault(error));
    }
  } finally {
    await sidecar.end();
  }
}

function pause(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, POLL_MS);
    signal?.addEventListener('abort', done);
  });
}

class Sidecar {
  readonly #host: RecoveryHost & { payloads: PayloadSender };
  readonly #events: FollowEvents;
  readonly #followed = new Map<string, LiveSeries>();
  readonly #dead: DeadSeries;
  #touchedMs = nowMs();

  constructor(host: RecoveryHost & { payloads: PayloadSender }, events: FollowEvents) {
    this.#host = host;
    this.#events = events;
    this.#dead = new DeadSeries(host, events);
  }

  async look(): Promise<void> {
    this.#touch();
    const all = await findAll(this.#host);
    const sameThread = new SameThread();
    this.#dead.hasPostponed = false;
    const rest = breaksOf(this.#host.pace);
    for (const series of all) {
      await rest();
      if (this.#host.signal?.aborted) return;
      if (isLive(series, this.#host.dir)) await this.#lookAtLive(series);
      else await this.#lookAtDead(series, sameThread);
      this.#touch();
    }
    this.#forgetGone(new Set(all.map(({ name }) => name)));
    for (const live of this.#followed.values()) this.#tell(live);
  }

  /** Until everything that is followed was sent, or nothing more will be. */
  async settle(isOver: () => boolean): Promise<void> {
    for (const live of this.#followed.values()) {
      await live.settled();
      this.#tell(live);
    }
    await this.#dead.settled();
    while (this.#dead.hasPostponed && !isOver()) {
      await this.look();
      await this.#dead.settled();
    }
  }

  async end(): Promise<void> {
    for (const live of this.#followed.values()) {
      await live.settled();
      this.#tell(live);
      this.#letGo(live);
    }
    await this.#dead.settled();
  }

  async #lookAtLive(series: Series): Promise<void> {
    const { dir, payloads, kind } = this.#host;
    const shipsItself = (): boolean => {
      const claim = readClaim(programClaimPath(dir, series.name));
      return claim !== undefined && !isStale(claim);
    };
    const known = this.#followed.get(series.name);
    if (shipsItself()) {
      if (known) this.#leave(known);
      return;
    }
    const isWorth = known !== undefined || (await inSlices(hasEnded(series), this.#host.pace));
    const live = known ?? (isWorth ? this.#follow(series, payloads, kind) : undefined);
    await live?.look(() => !shipsItself());
  }

  #follow(series: Series, sender: PayloadSender, kind: RecoveryHost['kind']): LiveSeries | undefined {
    try {
      prepareClaims(this.#host.dir);
      const claim = takeClaim(claimPath(this.#host.dir, series.name), kind);
      if (!claim) return undefined;
      const live = new LiveSeries(series, this.#host, sender, claim);
      this.#followed.set(series.name, live);
      this.#events.onFollow(series.name);
      return live;
    } catch (error) {
      throw asCodedError(error, this.#host.dir);
    }
  }

  async #lookAtDead(series: Series, sameThread: SameThread): Promise<void> {
    const known = this.#followed.get(series.name);
    if (known) {
      // Its answers may take as long as the endpoint is away; the others are looked at meanwhile.
      if (!known.isSettled) return;
      this.#tell(known);
      known.save();
      this.#followed.delete(series.name);
    }
    await this.#dead.look(series, sameThread, known?.claim);
  }

  /** Bounds, or a person, removed all files of a series: nobody needs to know how far it was shipped. */
  #forgetGone(present: ReadonlySet<string>): void {
    for (const live of [...this.#followed.values()]) {
      if (present.has(live.name) || !live.isSettled) continue;
      this.#tell(live);
      live.claim.release();
      this.#followed.delete(live.name);
    }
  }

  #leave(live: LiveSeries): void {
    this.#letGo(live);
    this.#events.onLeave(live.name);
  }

  #letGo(live: LiveSeries): void {
    live.save();
    live.claim.keep();
    this.#followed.delete(live.name);
  }

  #tell(live: LiveSeries): void {
    const counts = live.takeCounts();
    if (counts.sent + counts.refused + counts.lost > 0) this.#events.onSent(counts);
  }

  #touch(): void {
    if (nowMs() - this.#touchedMs < TOUCH_MS) return;
    this.#touchedMs = nowMs();
    for (const live of [...this.#followed.values()]) if (!live.claim.touch()) this.#followed.delete(live.name);
  }
}
