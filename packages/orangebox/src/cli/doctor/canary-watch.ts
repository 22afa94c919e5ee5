/** Waits for the canary at both ends, and watches the trace backend for what must not be there. */
import { setTimeout as pause } from 'node:timers/promises';
import { OrangeboxError, type Snapshot } from '@orangebox/schema';
import {
  createSourceClient,
  type ObjectBucket,
  readObjects,
  type SourceClient,
  type TraceSource,
} from '@orangebox/store';
import type { SourcePlace } from '../places.ts';
import type { LeakSearch } from './canary-leak.ts';

/** What was seen. Times are milliseconds from the start of the watch. */
export interface Watched {
  spanAfterMs?: number;
  storedAfterMs?: number;
  /** The snapshot that the store has. */
  stored?: Snapshot;
  /** Something stands under the key and does not verify. */
  damage?: OrangeboxError;
  /** What of the payload the trace backend shows. */
  leak?: string;
  /** More spans of the canary's id than the one: the payload's twin, its payload stripped. */
  twins: number;
  /** Answers of the trace backend with the trace that were looked through. */
  answers: number;
}

/** What is watched. */
export interface WatchTarget {
  traceId: string;
  key: string;
  source: TraceSource;
  sourcePlace: SourcePlace;
  bucket: ObjectBucket;
  leak: LeakSearch;
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 1000;

/**
 * Looks at both ends until both have it, for `waitMs` at most, and then for `settleMs` more at the trace backend: a
 * leak may come by another way and later than the span. Ends at once when something leaked.
 *
 * @throws OrangeboxError `OBX_SOURCE_*`, `OBX_STORE_*` when an end cannot be asked.
 */
export async function watch(target: WatchTarget, waitMs: number, settleMs: number): Promise<Watched> {
  const raw = createSourceClient({
    url: target.sourcePlace.url.replace(/^(?:jaeger|tempo)\+/i, ''),
    headers: target.sourcePlace.headers,
  });
  const seen: Watched = { twins: 0, answers: 0 };
  const startMs = performance.now();
  let untilMs = waitMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS)) {
    await Promise.all([lookAtBackend(target, raw, seen, startMs), lookAtStore(target, seen, startMs)]);
    const nowMs = performance.now() - startMs;
    if (seen.leak !== undefined) return seen;
    if (seen.spanAfterMs !== undefined && seen.storedAfterMs !== undefined)
      untilMs = Math.min(untilMs, Math.max(seen.spanAfterMs, seen.storedAfterMs) + settleMs);
    if (nowMs >= untilMs) return seen;
    await pause(Math.min(pauseMs, Math.max(1, untilMs - nowMs)));
  }
}

async function lookAtBackend(target: WatchTarget, raw: SourceClient, seen: Watched, startMs: number): Promise<void> {
  const spans = await target.source.trace(target.traceId);
  if (spans.length > 0) seen.spanAfterMs ??= performance.now() - startMs;
  seen.twins = Math.max(seen.twins, spans.length - 1);
  // What is parsed leaves out what it does not know, so the answers themselves are looked through, of both APIs.
  const paths =
    target.source.kind === 'tempo'
      ? [`/api/v2/traces/${target.traceId}`, `/api/traces/${target.traceId}`]
      : [`/api/v3/traces/${target.traceId}`, `/api/traces/${target.traceId}`];
  for (const path of paths) {
    const answer = await raw.get(path).catch((error: unknown) => {
      // One of the two APIs may be switched off.
      if (error instanceof OrangeboxError && error.code === 'OBX_SOURCE_ANSWER') return undefined;
      throw error;
    });
    if (answer === undefined) continue;
    // What says that there is no such trace is looked through as well, but vouches for nothing.
    if (answer.status === 200) seen.answers += 1;
    const leak = target.leak.find(answer.text);
    if (leak !== undefined) seen.leak ??= leak;
  }
}

async function lookAtStore({ bucket, key }: WatchTarget, seen: Watched, startMs: number): Promise<void> {
  if (seen.storedAfterMs !== undefined) return;
  const names: string[] = [];
  for await (const { name } of bucket.list(`${key}/`)) names.push(name);
  if (names.length === 0) return;
  try {
    const snapshot = await readObjects(key, {
      nameOf: (object) => `${key}/${object}`,
      list: () => Promise.resolve(names.map((name) => name.slice(key.length + 1))),
      read: (object, maxBytes) => bucket.read(`${key}/${object}`, maxBytes),
    });
    if (snapshot === undefined) return;
    seen.stored = snapshot;
    delete seen.damage;
    seen.storedAfterMs = performance.now() - startMs;
  } catch (error) {
    if (!(error instanceof OrangeboxError) || error.code.startsWith('OBX_STORE_')) throw error;
    seen.damage = error;
  }
}
