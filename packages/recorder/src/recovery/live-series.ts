/** A series that a living process writes and nobody ships: followed as it grows. Nothing is written to it but by its process. */
import type { Claim, Cursor } from './claims.ts';
import type { RecoveryHost } from './recover-series.ts';
import type { PayloadSender } from './payload-sender.ts';
import { scanFrames } from './record-reader.ts';
import { nowNano } from './recovered-file.ts';
import { lookAgain, type Series } from './series-files.ts';
import { type PendingPayload, SeriesScan } from './series-scan.ts';
import { inSlices, type Steps } from './slices.ts';
import { shipItem } from './stored-payload.ts';

/** A claim has room for so many; the position stands still before the next one, which is refused anew after a restart. */
const MAX_QUARANTINED = 200;
const MAX_REASON_CHARS = 100;

/** What following has done since the last look. */
export interface FollowCounts {
  sent: number;
  refused: number;
  lost: number;
}

/**
 * Whether anything in a series may be shipped. A journal of calls that sampling has not decided about never has it, and comes
 * and goes with each of them.
 */
export function* hasEnded({ files }: Series): Steps<boolean> {
  for (const { path, sizeBytes } of files) {
    let isFound = false;
    try {
      const steps = scanFrames(path, 0, sizeBytes, ({ record }) => {
        isFound ||= record.type === 'callEnd' || record.type === 'tool';
      });
      while (!isFound && steps.next().done !== true) yield;
      steps.return({} as never);
    } catch {
      // Gone, or no segment: nothing in it can be shipped.
    }
    if (isFound) return true;
  }
  return false;
}

/** Ships one live series, with the position in its claim. */
export class LiveSeries {
  readonly claim: Claim;
  readonly #host: RecoveryHost;
  readonly #sender: PayloadSender;
  readonly #scan = new SeriesScan();
  readonly #underWay = new Map<string, Promise<void>>();
  /** Refused, and not in the claim. */
  readonly #unnoted = new Set<string>();
  readonly #quarantined: Cursor['quarantined'];
  #series: Series;
  #isResumed = false;
  #saved = '';
  #counts: FollowCounts = { sent: 0, refused: 0, lost: 0 };

  constructor(series: Series, host: RecoveryHost, sender: PayloadSender, claim: Claim) {
    this.#series = series;
    this.#host = host;
    this.#sender = sender;
    this.claim = claim;
    this.#quarantined = [...(claim.cursor?.quarantined ?? [])];
  }

  get name(): string {
    return this.#series.name;
  }

  /** Takes in what was written since; `maySend` is asked after that, so that a program's claim is seen in time. */
  async look(maySend: () => boolean): Promise<void> {
    this.#series = lookAgain(this.#series, this.#host.dir);
    await inSlices(this.#scan.read(this.#series), this.#host.pace);
    const { cursor } = this.claim;
    if (!this.#isResumed && cursor) this.#scan.passOver(cursor.n, cursor.offset);
    this.#isResumed = true;
    if (maySend()) this.#sendMore();
    this.save();
  }

  /** Sent, refused and lost since this was asked last. */
  takeCounts(): FollowCounts {
    const counts = this.#counts;
    this.#counts = { sent: 0, refused: 0, lost: 0 };
    return counts;
  }

  /** Settles when nothing is under way. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.race(this.#underWay.values());
  }

  /** Nothing is under way. */
  get isSettled(): boolean {
    return this.#underWay.size === 0;
  }

  /** Notes the position, where it changed. */
  save(): void {
    const cursor = this.#cursor();
    const text = JSON.stringify(cursor);
    if (text === this.#saved) return;
    this.#saved = text;
    this.claim.save(cursor);
  }

  #sendMore(): void {
    for (const payload of this.#scan.pending.values()) {
      if (this.#underWay.size >= this.#sender.concurrency || this.#sender.isStopped || this.#host.signal?.aborted)
        return;
      if (this.#underWay.has(payload.key) || this.#isRefused(payload.key)) continue;
      this.#send(payload);
    }
  }

  #send(payload: PendingPayload): void {
    const { key } = payload;
    const item = shipItem(payload, this.#scan.processes);
    if (!item) {
      this.#lose(key);
      return;
    }
    const one = this.#sender.send(item).then((result) => {
      this.#underWay.delete(key);
      if (result.kind === 'lost') this.#lose(key);
      else if (result.kind === 'sent') {
        this.#scan.settle(key);
        this.#counts.sent++;
      } else if (result.kind === 'refused') this.#refuse(key, result.reason);
      if (result.kind !== 'left') this.#sendMore();
    });
    this.#underWay.set(key, one);
  }

  #lose(key: string): void {
    this.#scan.settle(key);
    this.#counts.lost++;
  }

  #refuse(key: string, said: string): void {
    const reason = this.#host.redactor().text(said).text.slice(0, MAX_REASON_CHARS);
    const atUnixNano = nowNano();
    this.#counts.refused++;
    if (this.#quarantined.length >= MAX_QUARANTINED) {
      this.#scan.refused.set(key, { reason, atUnixNano });
      this.#unnoted.add(key);
      return;
    }
    this.#quarantined.push({ key, reason, atUnixNano });
    this.#scan.settle(key);
  }

  #isRefused(key: string): boolean {
    return this.#scan.refused.has(key);
  }

  /** Before the oldest record that still waits, else where reading ended. */
  #cursor(): Cursor {
    const waiting = [...this.#scan.pending.values()].filter(
      ({ key }) => !this.#isRefused(key) || this.#unnoted.has(key),
    );
    const [first] = waiting.map(({ location }) => location).sort((a, b) => a.n - b.n || a.offset - b.offset);
    const { n, offset } = first ?? this.#scan.endOf(this.#series);
    return { n, offset, quarantined: this.#quarantined };
  }
}
