/** What tests of the index work with: an empty bucket for each, calls of a day, and what the index has of them. */
import type { IndexRow, Snapshot } from '@orangebox/schema';
import { afterEach, beforeEach } from 'vitest';
import type { ObjectBucket } from '../objects/bucket.ts';
import { type IndexQuery, readIndex } from '../objects/index-reader.ts';
import { indexRowOf } from '../objects/index-rows.ts';
import { createMemoryBucket } from '../objects/memory-bucket.ts';
import { temporaryDirectory, TestSegments } from './write-segments.ts';

/** A day on which calls start. */
export const DAY: number = Date.UTC(2026, 10, 29);

/** Milliseconds of a minute, of which each has index objects of its own. */
export const MINUTE = 60_000;

/** The surroundings of one test. */
export interface IndexBench {
  readonly bucket: ObjectBucket;
  readonly segments: TestSegments;
  callAt(startMs: number, more?: Parameters<TestSegments['call']>[0]): Snapshot;
  rowAt(startMs: number): IndexRow;
  /** Names of the bucket's objects, of the index by default. */
  names(prefix?: string): Promise<string[]>;
  rows(query?: Partial<IndexQuery>): Promise<IndexRow[]>;
}

/** Makes them anew before each test of the file. */
export function indexBench(): IndexBench {
  let segments: TestSegments;
  let bucket: ObjectBucket;
  let remove: () => void;
  beforeEach(() => {
    const directory = temporaryDirectory();
    remove = directory.remove;
    segments = new TestSegments(directory.path);
    bucket = createMemoryBucket();
  });
  afterEach(() => remove());
  const callAt: IndexBench['callAt'] = (startMs, more = {}) => segments.call({ startMs, ...more });
  return {
    get bucket() {
      return bucket;
    },
    get segments() {
      return segments;
    },
    callAt,
    rowAt: (startMs) => indexRowOf(callAt(startMs), 1234),
    async names(prefix = 'index/') {
      const found: string[] = [];
      for await (const { name } of bucket.list(prefix)) found.push(name);
      return found;
    },
    async rows(query = {}) {
      const found: IndexRow[] = [];
      for await (const row of readIndex(bucket, { sinceUnixMs: 0, ...query })) found.push(row);
      return found;
    },
  };
}

/** Keys of rows, in their order. */
export function keysOf(found: readonly IndexRow[]): string[] {
  return found.map((row) => row.key);
}
