/**
 * Compares what a trace backend's spans promise with what a bucket holds. Each day of the range is listed once; every
 * object of the range is opened, a few at a time.
 */
import { type IndexRow, parseSnapshotKey, type SnapshotKeyParts } from '@orangebox/schema';
import { isCanary } from '../canary.ts';
import type { ObjectBucket } from '../objects/bucket.ts';
import type { TraceSource } from '../sources/trace-source.ts';
import { AUDIT_MARGIN_MS, AuditRange } from './audit-range.ts';
import { checkKey, checkListed, type KeyCheck } from './check-key.ts';
import { Findings } from './findings.ts';
import { judgeUnpromised } from './judge.ts';
import { type ForeignObject, keyGroup, type KeyGroup, keyGroups } from './key-groups.ts';
import { collectPromises, type Promised, type Promises } from './promises.ts';
import { countQuarantine } from './quarantine.ts';
import type { AuditFinding, AuditReport } from './report.ts';
import { sideBySide } from './side-by-side.ts';
import { TraceLookup } from './trace-lookup.ts';

/** Options of {@link auditBucket}. */
export interface AuditOptions {
  /** Calls that started at or after this time … */
  sinceUnixMs: number;
  /** … and before this one. */
  untilUnixMs: number;
  /** What counts as now. */
  nowMs: number;
  /** What ended less than this before now may still be on its way. */
  graceMs: number;
  /** Traces are sampled after the fact: an object without a span says nothing. */
  tailSampled?: boolean;
  /** Only look whether objects are there, without opening them. */
  quick?: boolean;
  /** Rows of the bucket's index objects, of the range and {@link AUDIT_MARGIN_MS} around it. */
  indexRows?: AsyncIterable<IndexRow>;
  /** Objects opened at once (default 8). */
  concurrency?: number;
  /** Traces looked up by id at most (default 1,000). */
  traceLookups?: number;
  /** Findings listed per verdict at most (default 10,000); all are counted. */
  findingsMax?: number;
  /** Told how many keys have been looked at. */
  onProgress?: (keys: number) => void;
}

/** Compressed bytes of objects in memory at once; unpacked they are a few times that. */
const OPEN_BYTES_MAX = 32 * 1024 * 1024;

/** From this many objects without a span on, where they are this share of all, a tail sampler is the likelier reason. */
const TAIL_SAMPLED_MIN = 20;
const TAIL_SAMPLED_SHARE = 0.1;

/** Keys listed as not indexed. */
const NOT_INDEXED_MAX = 100;

/**
 * Compares. Spans and objects of the canary are left out.
 *
 * @throws OrangeboxError `OBX_SOURCE_*`, `OBX_STORE_*` when either cannot be asked.
 */
export async function auditBucket(
  source: TraceSource,
  bucket: ObjectBucket,
  options: AuditOptions,
): Promise<AuditReport> {
  const promises = await collectPromises(source, {
    sinceUnixMs: options.sinceUnixMs - AUDIT_MARGIN_MS,
    untilUnixMs: options.untilUnixMs + AUDIT_MARGIN_MS,
  });
  return new Audit(source, bucket, options, promises).run();
}

/** What an index row is kept as. */
interface Indexed {
  startUnixNano: string;
  endUnixNano: string;
  sampled: boolean;
}

class Audit {
  readonly #source: TraceSource;
  readonly #bucket: ObjectBucket;
  readonly #options: AuditOptions;
  readonly #promises: Promises;
  readonly #range: AuditRange;
  readonly #findings: Findings;
  /** Objects without a span, until it is known how many there are. */
  readonly #spanless: Findings;
  readonly #lookup: TraceLookup;
  readonly #index: Map<string, Indexed> = new Map();
  /** Promised keys under which there is something. */
  readonly #there: Set<string> = new Set();
  /** Where other keys' payloads stand. */
  readonly #elsewhere: Map<string, string> = new Map();
  readonly #notIndexed: { count: number; keys: string[] } = { count: 0, keys: [] };
  #promised = 0;
  #stored = 0;
  #objects = 0;
  #keys = 0;

  constructor(source: TraceSource, bucket: ObjectBucket, options: AuditOptions, promises: Promises) {
    this.#source = source;
    this.#bucket = bucket;
    this.#options = options;
    this.#promises = promises;
    this.#range = new AuditRange(options);
    this.#findings = new Findings(options.findingsMax ?? 10_000);
    this.#spanless = new Findings(options.findingsMax ?? 10_000);
    this.#lookup = new TraceLookup(source, options.traceLookups ?? 1000);
  }

  async run(): Promise<AuditReport> {
    const { sinceUnixMs, untilUnixMs, quick, concurrency, indexRows } = this.#options;
    const days = this.#range.days();
    if (indexRows) await this.#readIndex(indexRows);
    const limits = { concurrency: concurrency ?? 8, maxBytes: OPEN_BYTES_MAX };
    const bytesOf = (item: KeyGroup | ForeignObject): number => ('key' in item ? item.sizeBytes : 0);
    await sideBySide(this.#listed(days), limits, bytesOf, (item) => this.#look(item));
    await this.#settlePromises();
    const looksTailSampled = this.#settleOrphans();
    return {
      sinceUnixMs,
      untilUnixMs,
      source: this.#source.location,
      store: this.#bucket.location,
      verified: quick !== true,
      promised: this.#promised,
      stored: this.#stored,
      objects: this.#objects,
      counts: this.#findings.counts,
      findings: this.#findings.sorted(),
      truncated: this.#promises.truncated,
      looksTailSampled,
      notIndexed: this.#notIndexed,
      canaries: this.#promises.canaries.size,
      quarantine: await countQuarantine(this.#bucket, days),
    };
  }

  async *#listed(days: readonly string[]): AsyncGenerator<KeyGroup | ForeignObject, void, undefined> {
    for (const date of days) yield* keyGroups(this.#bucket, date);
    // A span's clock and its call's may stand on two sides of midnight, and a key may name any day.
    const listed = new Set(days);
    for (const promised of this.#promises.byKey.values()) {
      if (!this.#range.has(promised.startUnixNano) || listed.has(partsOf(promised.key).date)) continue;
      const group = await keyGroup(this.#bucket, promised.key);
      if (group) yield group;
    }
  }

  async #look(item: KeyGroup | ForeignObject): Promise<void> {
    this.#options.onProgress?.(++this.#keys);
    if ('foreign' in item) {
      const { name, modifiedUnixMs } = item.foreign;
      if (!this.#range.hasWriting(modifiedUnixMs)) return;
      const reason = 'stands among the snapshots under no key';
      this.#findings.add({ verdict: 'foreign', key: name, object: name, reason });
      return;
    }
    if (this.#promises.canaries.has(item.key)) return;
    const promised = this.#promises.byKey.get(item.key);
    if (promised) await this.#lookPromised(item, promised);
    else await this.#lookUnpromised(item);
  }

  async #lookPromised(group: KeyGroup, promised: Promised): Promise<void> {
    if (!this.#range.has(promised.startUnixNano)) return;
    this.#there.add(group.key);
    this.#objects += 1;
    const check = await this.#check(group);
    this.#noteMixed(group, check);
    if (check.state === 'stored') {
      this.#stored += 1;
      this.#noteIndexed(group);
      return;
    }
    const isLate = check.state === 'incomplete' && this.#range.isRecent(promised.endUnixNano);
    this.#findings.add({
      ...facts(promised),
      verdict: isLate ? 'late' : check.state,
      ...(check.code === undefined ? {} : { code: check.code }),
      ...objectOf(group),
      reason: check.reason ?? check.state,
    });
  }

  async #lookUnpromised(group: KeyGroup): Promise<void> {
    const indexed = this.#index.get(group.key);
    if (indexed ? !this.#range.has(indexed.startUnixNano) : this.#range.isAfterWriting(group.modifiedUnixMs)) return;
    const check = await this.#check(group);
    // What cannot be read tells no time: then that of its writing is as near as one can come.
    const timed = check.facts ?? indexed;
    const known = timed ?? timesOf(group);
    const isOfRange = timed ? this.#range.has(timed.startUnixNano) : this.#range.hasWriting(group.modifiedUnixMs);
    if (!isOfRange || isCanary(check.facts?.sessionId)) return;
    const { traceId, spanId } = partsOf(group.key);
    const found = await this.#findSpan(group, known.sampled);
    if (found.found === 'promise') {
      this.#promises.byKey.set(group.key, found.promised);
      return this.#lookPromised(group, found.promised);
    }
    this.#objects += 1;
    this.#noteMixed(group, check);
    if (check.state === 'stored') this.#noteIndexed(group);
    const finding = {
      key: group.key,
      traceId,
      spanId,
      startUnixNano: known.startUnixNano,
      ...(check.facts ? { serviceName: check.facts.serviceName } : {}),
      ...(check.code === undefined ? {} : { code: check.code }),
      ...objectOf(group),
    };
    const { quick, tailSampled } = this.#options;
    const judged = judgeUnpromised(
      { check, lookedUp: found, endUnixNano: known.endUnixNano, ...sampledOf(known) },
      {
        range: this.#range,
        quick: quick === true,
        tailSampled: tailSampled === true,
        truncated: this.#promises.truncated,
      },
    );
    if (judged === undefined) this.#spanless.add({ ...finding, verdict: 'orphaned', reason: '' });
    else this.#findings.add({ ...finding, ...judged });
    return undefined;
  }

  async #findSpan(group: KeyGroup, sampled: boolean | undefined): ReturnType<TraceLookup['find']> {
    // A sampler's word needs no second look, and after a tail sampler there is nothing to find unless the search was cut.
    if (sampled === false || (this.#options.tailSampled === true && !this.#promises.truncated))
      return { found: 'nothing' };
    const { traceId, spanId } = partsOf(group.key);
    return this.#lookup.find(group.key, traceId, spanId);
  }

  async #settlePromises(): Promise<void> {
    for (const promised of this.#promises.byKey.values()) {
      if (!this.#range.has(promised.startUnixNano)) continue;
      this.#promised += 1;
      if (this.#there.has(promised.key)) continue;
      const elsewhere = this.#elsewhere.get(promised.key);
      const where = elsewhere === undefined ? '' : `; its payload stands in ${elsewhere}, where no reader finds it`;
      if (this.#range.isRecent(promised.endUnixNano) && elsewhere === undefined) {
        this.#findings.add({ ...facts(promised), verdict: 'late', reason: 'not there yet; its span ended just now' });
      } else
        this.#findings.add({
          ...facts(promised),
          verdict: 'lost',
          reason: `nothing stands under it${this.#index.has(promised.key) ? ', though the index names it' : ''}${where}`,
        });
    }
    for (const promised of this.#promises.invalid) {
      if (!this.#range.has(promised.startUnixNano)) continue;
      const key = promised.key.slice(0, 120);
      this.#findings.add({
        ...facts(promised),
        key,
        verdict: 'invalid_key',
        reason: 'the span names what is no key of its own',
      });
    }
  }

  /** Many objects without a span are no accident but a sampler; says whether that was concluded. */
  #settleOrphans(): boolean {
    const count = this.#spanless.counts.orphaned;
    const many = count >= TAIL_SAMPLED_MIN && count > this.#objects * TAIL_SAMPLED_SHARE;
    if (this.#options.tailSampled === true || many) {
      const reason = 'a sampler dropped its span, or the span was lost';
      this.#findings.takeAs('unsampled_or_orphaned', reason, this.#spanless);
    } else this.#findings.takeAs('orphaned', 'the trace backend has no span for it', this.#spanless);
    return many && this.#options.tailSampled !== true;
  }

  async #readIndex(rows: AsyncIterable<IndexRow>): Promise<void> {
    for await (const { key, time, trace } of rows) {
      this.#index.set(key, {
        startUnixNano: time.startUnixNano,
        endUnixNano: time.endUnixNano,
        sampled: trace.sampled,
      });
    }
  }

  async #check(group: KeyGroup): Promise<KeyCheck> {
    return this.#options.quick === true ? checkListed(group) : checkKey(this.#bucket, group);
  }

  #noteMixed(group: KeyGroup, check: KeyCheck): void {
    const { traceId, spanId } = partsOf(group.key);
    for (const { object, keys } of check.mixed) {
      for (const key of keys) this.#elsewhere.set(key, object);
      const others = keys.length === 1 ? keys[0] : `${keys.length} other keys, first ${keys[0]}`;
      const reason = `carries the payload of ${others}`;
      this.#findings.add({ verdict: 'mixed', key: group.key, traceId, spanId, object, reason });
    }
  }

  #noteIndexed(group: KeyGroup): void {
    const { indexRows, nowMs, graceMs } = this.#options;
    // The archiver writes its index a minute later, so what is new need not stand there.
    if (!indexRows || this.#index.has(group.key) || group.modifiedUnixMs > nowMs - Math.max(graceMs, 120_000)) return;
    this.#notIndexed.count += 1;
    if (this.#notIndexed.keys.length < NOT_INDEXED_MAX) this.#notIndexed.keys.push(group.key);
  }
}

function facts(promised: Promised): Omit<AuditFinding, 'verdict' | 'reason'> {
  const { key, traceId, spanId, startUnixNano, serviceName } = promised;
  return { key, traceId, spanId, startUnixNano, ...(serviceName === undefined ? {} : { serviceName }) };
}

function objectOf(group: KeyGroup): { object?: string } {
  const [only] = group.objects;
  return only && group.objects.length === 1 ? { object: only.name } : {};
}

function timesOf(group: KeyGroup): { startUnixNano: string; endUnixNano: string; sampled?: boolean } {
  const time = nanos(group.modifiedUnixMs);
  return { startUnixNano: time, endUnixNano: time };
}

function nanos(unixMs: number): string {
  return `${Math.floor(unixMs)}000000`;
}

function partsOf(key: string): SnapshotKeyParts {
  return parseSnapshotKey(key) ?? { date: '', traceId: '', spanId: '', digest16: '' };
}

function sampledOf(known: { sampled?: boolean }): { sampled?: boolean } {
  return known.sampled === undefined ? {} : { sampled: known.sampled };
}
