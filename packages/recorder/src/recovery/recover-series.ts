/** One series of a process that has ended: its calls are completed, its spans exported, its payloads shipped. */
import { appendAll } from '@orangebox/codec';
import type { Redactor } from '@orangebox/codec';
import type { ProcessInfo, SegmentRecord } from '@orangebox/schema';
import type { FinishedSpan } from '../otel/finished-span.ts';
import type { SpanContentOptions } from '../otel/span-content.ts';
import { afterMs, cancelTimer } from '../timers.ts';
import { type Claim, type ClaimKind, claimPath, takeClaim, TOUCH_MS } from './claims.ts';
import { endCrashedCalls } from './crashed-calls.ts';
import { type Left, writeDone } from './done-marks.ts';
import type { PayloadSender } from './payload-sender.ts';
import { readRecords } from './record-reader.ts';
import { nowNano, RecoveredFile } from './recovered-file.ts';
import { lookAgain, type Series } from './series-files.ts';
import { SeriesScan } from './series-scan.ts';
import { inSlices, type Pace, type Steps } from './slices.ts';
import { shipItem, UNKNOWN_PROCESS } from './stored-payload.ts';
import type { SameThread } from './same-thread.ts';
import { finishedSpans } from './stored-spans.ts';

/** Exports spans under the resource of the process that they are of. Never rejects. */
export interface SpanSender {
  send(spans: readonly FinishedSpan[], process: ProcessInfo): Promise<boolean>;
}

/** What a recovery works with. */
export interface RecoveryHost {
  /** `ORANGEBOX_DIR`. */
  dir: string;
  kind: Exclude<ClaimKind, 'program'>;
  pace: Pace;
  spanContent: SpanContentOptions;
  redactor(): Redactor;
  /** Absent where no payload endpoint is set: payloads stay. */
  payloads?: PayloadSender;
  /** Absent where spans go nowhere: they stay to be exported by a later recovery. */
  spans?: SpanSender;
  /** What an endpoint refused for good is sent again. */
  retryQuarantined: boolean;
  signal?: AbortSignal;
  /** Calls are completed and spans were offered; payloads come next. */
  onCompleted?(): void;
  /** A fault of ours in one series, which stays as it is; the others go on. Without it the pass rejects when it is over. */
  onFault?(series: string, error: unknown): void;
  /** What was seen of other series in the same pass. */
  sameThread?: SameThread;
}

/** What was done, and what is left. */
export interface RecoveryCounts {
  /** Calls whose process died, completed now. */
  calls: number;
  sent: number;
  /** Acknowledged before. */
  already: number;
  /** Refused by the endpoint now. */
  refused: number;
  /** Refused before, and not sent again. */
  quarantined: number;
  /** They can't be read back. */
  lost: number;
  left: number;
  spansSent: number;
  spansLeft: number;
}

/** Nothing done yet. */
export function noCounts(): RecoveryCounts {
  return { calls: 0, sent: 0, already: 0, refused: 0, quarantined: 0, lost: 0, left: 0, spansSent: 0, spansLeft: 0 };
}

const SPANS_PER_BATCH = 200;
const SPAN_BYTES_PER_BATCH = 2 * 1024 * 1024;

/**
 * Recovers a series whose process has ended, under the claim that is held or a new one; undefined when somebody else is
 * at it.
 * @throws the file system's error where nothing can be written
 */
export async function recoverSeries(
  found: Series,
  host: RecoveryHost,
  held?: Claim,
): Promise<RecoveryCounts | undefined> {
  const claim = held ?? takeClaim(claimPath(host.dir, found.name), host.kind);
  if (!claim) return undefined;
  const work = new SeriesRecovery(found, host, claim);
  try {
    return await work.run();
  } finally {
    work.end();
  }
}

class SeriesRecovery {
  readonly #host: RecoveryHost;
  readonly #claim: Claim;
  readonly #series: Series;
  readonly #scan = new SeriesScan();
  readonly #counts = noCounts();
  #file: RecoveredFile | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isLost = false;

  constructor(found: Series, host: RecoveryHost, claim: Claim) {
    this.#host = host;
    this.#claim = claim;
    // Whoever had the claim before may have added a file.
    this.#series = lookAgain(found, host.dir);
    this.#touchLater();
  }

  async run(): Promise<RecoveryCounts> {
    const { pace } = this.#host;
    await inSlices(this.#untilStopped(this.#scan.read(this.#series)), pace);
    if (this.#isStopped) return this.#counts;
    this.#counts.already = this.#scan.shipped;
    this.#takeOverCursor();
    this.#forgetMoved();
    await inSlices(this.#untilStopped(this.#completeCalls()), pace);
    await this.#sendSpans();
    this.#host.onCompleted?.();
    await this.#sendPayloads();
    return this.#summary();
  }

  /** Lets go of everything; what is written is whole. */
  end(): void {
    cancelTimer(this.#timer);
    try {
      this.#file?.close();
      if (!this.#isStopped) this.#mark();
    } finally {
      this.#claim.release();
    }
  }

  get #isStopped(): boolean {
    return this.#isLost || this.#host.signal?.aborted === true;
  }

  /** What was done by then is whole; the same work goes on from there another time. */
  *#untilStopped(work: Steps<void>): Steps<void> {
    while (!this.#isStopped && work.next().done !== true) yield;
  }

  get #process(): ProcessInfo {
    return this.#scan.process ?? UNKNOWN_PROCESS;
  }

  #touchLater(): void {
    this.#timer = afterMs(TOUCH_MS, () => {
      try {
        this.#isLost = !this.#claim.touch();
      } catch {
        this.#isLost = true;
      }
      if (!this.#isLost) this.#touchLater();
    }).unref();
  }

  #append(records: readonly SegmentRecord[]): ReturnType<RecoveredFile['append']> {
    if (!this.#claim.isHeld()) this.#isLost = true;
    if (this.#isLost) throw Object.assign(new Error('another process has taken the series over'), { code: 'EEXIST' });
    this.#file ??= new RecoveredFile(this.#host.dir, this.#series, {
      process: this.#process,
      pidNamespace: this.#scan.pidNamespace,
      isDurable: this.#host.kind !== 'start',
    });
    return this.#file.append(records);
  }

  /** What a sidecar shipped while the process lived stands in its claim only. */
  #takeOverCursor(): void {
    const { cursor } = this.#claim;
    if (!cursor) return;
    const refused = new Map(cursor.quarantined.map((entry) => [entry.key, entry]));
    const records = this.#scan.passOver(cursor.n, cursor.offset).map(({ key }): SegmentRecord => {
      const entry = refused.get(key);
      return entry ? { type: 'quarantined', ...entry } : { type: 'shipped', key };
    });
    if (records.length === 0) return;
    this.#append(records);
    this.#counts.already += records.filter(({ type }) => type === 'shipped').length;
    this.#counts.quarantined += records.filter(({ type }) => type === 'quarantined').length;
  }

  /** Calls that stand whole in another series of the thread. */
  #forgetMoved(): void {
    const { sameThread } = this.#host;
    const ended = sameThread?.endedBefore(this.#series);
    const moved = this.#scan.crashed().filter(({ spanId }) => ended?.has(spanId));
    if (moved.length > 0) this.#append([{ type: 'forgotten', exchangeIds: moved.map(({ id }) => id) }]);
    for (const { id } of moved) this.#scan.forget(id);
    sameThread?.saw(this.#series, this.#scan.endedSpanIds);
  }

  *#completeCalls(): Steps<void> {
    const { spanContent, redactor } = this.#host;
    const options = { process: this.#process, spanContent, redactor };
    yield* endCrashedCalls(this.#scan, options, (record) => {
      const [location] = this.#append([record]);
      if (location) this.#scan.noteCall(record, location);
      this.#counts.calls++;
    });
    this.#file?.sync();
  }

  async #sendSpans(): Promise<void> {
    const { spans: sender } = this.#host;
    if (!sender) return;
    let spans: FinishedSpan[] = [];
    let ids: string[] = [];
    let sizeBytes = 0;
    const send = async (): Promise<boolean> => {
      if (ids.length === 0) return true;
      const isAccepted = spans.length === 0 || (await sender.send(spans, this.#process));
      if (!isAccepted || this.#isStopped) return isAccepted;
      this.#append([{ type: 'spansSent', spanIds: ids }]);
      for (const id of ids) this.#scan.unsentSpans.delete(id);
      this.#counts.spansSent += ids.length;
      [spans, ids, sizeBytes] = [[], [], 0];
      return true;
    };
    for (const [id, location] of [...this.#scan.unsentSpans]) {
      if (this.#isStopped) return;
      const [record] = readRecords([location]).records;
      const stored = record?.type === 'callEnd' || record?.type === 'tool' ? record.spans : [];
      appendAll(spans, finishedSpans(stored));
      ids.push(id);
      sizeBytes += location.sizeBytes;
      if ((ids.length >= SPANS_PER_BATCH || sizeBytes >= SPAN_BYTES_PER_BATCH) && !(await send())) return;
      await this.#host.pace.pause();
    }
    await send();
  }

  async #sendPayloads(): Promise<void> {
    const { payloads: sender, retryQuarantined } = this.#host;
    if (!sender) return;
    const underWay = new Set<Promise<void>>();
    for (const [key, payload] of [...this.#scan.pending]) {
      if (this.#isStopped || sender.isStopped) break;
      if (this.#scan.refused.has(key) && !retryQuarantined) continue;
      const item = shipItem(payload, this.#scan.processes);
      if (!item) {
        this.#lose(key);
        continue;
      }
      while (underWay.size >= sender.concurrency) await Promise.race(underWay);
      const one = sender.send(item).then((result) => {
        underWay.delete(one);
        if (result.kind === 'lost') this.#lose(key);
        else if (result.kind === 'sent') this.#sent(key);
        else if (result.kind === 'refused') this.#refused(key, result.reason);
      });
      underWay.add(one);
      await this.#host.pace.pause();
    }
    await Promise.all(underWay);
  }

  #sent(key: string): void {
    this.#append([{ type: 'shipped', key }]);
    this.#scan.settle(key);
    this.#scan.refused.delete(key);
    this.#counts.sent++;
  }

  #refused(key: string, said: string): void {
    const reason = this.#host.redactor().text(said).text;
    const atUnixNano = nowNano();
    this.#append([{ type: 'quarantined', key, reason, atUnixNano }]);
    this.#scan.refused.set(key, { reason, atUnixNano });
    this.#counts.refused++;
  }

  /** Nothing that another try would change; it stays in the series as it is. */
  #lose(key: string): void {
    this.#scan.settle(key);
    this.#counts.lost++;
  }

  #left(): Left {
    const quarantined = [...this.#scan.pending.keys()].filter((key) => this.#scan.refused.has(key)).length;
    return { payloads: this.#scan.pending.size - quarantined, spans: this.#scan.unsentSpans.size, quarantined };
  }

  #summary(): RecoveryCounts {
    const { payloads, spans, quarantined } = this.#left();
    this.#counts.left = payloads;
    this.#counts.spansLeft = spans;
    this.#counts.quarantined += Math.max(0, quarantined - this.#counts.refused);
    return this.#counts;
  }

  #mark(): void {
    if (this.#scan.crashed().length === 0)
      writeDone(this.#host.dir, lookAgain(this.#series, this.#host.dir), this.#left());
  }
}
