/**
 * Compares what a trace backend's spans promise with what a bucket holds. Each day of the range is listed once; every
 * object of the range is opened, a few at a time.
 */
import type { IndexRow } from '@orangebox/schema';
import { isCanary } from '../canary.ts';
import type { ObjectBucket } from '../objects/bucket.ts';
import type { TraceSource } from '../sources/trace-source.ts';
import type { AuditOptions } from './audit-options.ts';
import { AUDIT_MARGIN_MS, AuditRange } from './audit-range.ts';
import { checkKey, checkListed, type KeyCheck } from './check-key.ts';
import { Findings } from './findings.ts';
import { judgeUnpromised } from './judge.ts';
import { factsOf, objectOf, partsOf, timesOf } from './finding-facts.ts';
import { groupsToLook } from './groups-to-look.ts';
import type { ForeignObject, KeyGroup } from './key-groups.ts';
import { collectPromises, type Promised, type Promises } from './promises.ts';
import { countQuarantine } from './quarantine.ts';
import type { AuditReport } from './report.ts';
import { settlePromises, settleSpanless } from './settle.ts';
import { sideBySide } from './side-by-side.ts';
import { TraceLookup } from './trace-lookup.ts';

/** Compressed bytes of objects in memory at once; unpacked they are a few times that. */
const OPEN_BYTES_MAX = 32 * 1024 * 1024;

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
    const { sinceUnixMs, untilUnixMs, quick, concurrency, indexRows, tailSampled } = this.#options;
    const days = this.#range.days();
    if (indexRows) await this.#readIndex(indexRows);
    const limits = { concurrency: concurrency ?? 8, maxBytes: OPEN_BYTES_MAX };
    const bytesOf = (item: KeyGroup | ForeignObject): number => ('key' in item ? item.sizeBytes : 0);
    await sideBySide(groupsToLook(this.#bucket, days, this.#promises, this.#range), limits, bytesOf, (item) =>
      this.#look(item),
    );
    const promised = settlePromises(this.#promises, {
      range: this.#range,
      findings: this.#findings,
      isThere: (key) => this.#there.has(key),
      isIndexed: (key) => this.#index.has(key),
      elsewhere: (key) => this.#elsewhere.get(key),
    });
    const looksTailSampled = settleSpanless(this.#spanless, {
      findings: this.#findings,
      objects: this.#objects,
      tailSampled: tailSampled === true,
    });
    return {
      sinceUnixMs,
      untilUnixMs,
      source: this.#source.location,
      store: this.#bucket.location,
      verified: quick !== true,
      promised,
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
      ...factsOf(promised),
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

function sampledOf(known: { sampled?: boolean }): { sampled?: boolean } {
  return known.sampled === undefined ? {} : { sampled: known.sampled };
}
