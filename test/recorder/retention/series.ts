/** Test help: directories of segments with real calls, cut into files wherever a test wants it. */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { concatBytes, decodeSegment, encodeRecord, encodeSegmentHeader } from '@orangebox/codec';
import { type ProcessInfo, type SegmentRecord, segmentFileName, segmentHost } from '@orangebox/schema';
import { createSegmentStore, type StoredEntry } from '@orangebox/store';
import {
  answer,
  openExchange,
  type Script,
  testRecorder,
} from '../../../packages/recorder/src/testing/scripted-exchange.ts';
import type { SweepScope } from '../../../packages/recorder/src/retention/sweep-scope.ts';

/** A process number that no process has. */
export const DEAD_PID: number = 4_190_000;
export const DAY_MS: number = 24 * 3600_000;

/** The records of one call, in their order. */
export interface MadeCall {
  records: SegmentRecord[];
  spanId: string;
  key: string | undefined;
}

/** Calls of one process. */
export interface MadeCalls {
  process: ProcessInfo;
  calls: MadeCall[];
}

/** Records calls with the real recorder: their digests hold. An open one has no end. */
export function makeCalls(scripts: readonly (Script & { open?: boolean })[]): MadeCalls {
  const box = testRecorder({ ORANGEBOX_DIR_BYTES: '1GiB' });
  try {
    for (const script of scripts) {
      const exchange = openExchange(box.recorder, script);
      if (!script.open) answer(exchange, script);
      box.recorder.flushSync('signal');
    }
    const records = readAll(box.dir).flatMap(({ records: all }) => all);
    const start = records.find((record) => record.type === 'segmentStart');
    if (start?.type !== 'segmentStart') throw new Error('nothing was recorded');
    const calls = scripts.map((_, i): MadeCall => {
      const own = records.filter(
        (record) =>
          ('exchangeId' in record && record.exchangeId === i + 1) ||
          (record.type === 'callEnd' && record.exchangeIds.includes(i + 1)),
      );
      const end = own.find((record) => record.type === 'callEnd');
      const first = own.find((record) => record.type === 'exchangeStart');
      const trace = end?.type === 'callEnd' ? end.trace : first?.type === 'exchangeStart' ? first.trace : undefined;
      return { records: own, spanId: trace?.spanId ?? '', key: end?.type === 'callEnd' ? end.key : undefined };
    });
    return { process: start.process, calls };
  } finally {
    box.dispose();
  }
}

/** `shipped` record of a call. */
export function shippedRecord({ key }: MadeCall): SegmentRecord {
  if (key === undefined) throw new Error('the call has no key');
  return { type: 'shipped', key };
}

/** A directory under test. */
export class TestDirectory {
  readonly root: string = mkdtempSync(join(tmpdir(), 'orangebox-retention-'));
  readonly dir: string = join(this.root, 'box');

  constructor() {
    mkdirSync(join(this.dir, 'segments'), { recursive: true, mode: 0o700 });
  }

  dispose(): void {
    rmSync(this.root, { recursive: true, force: true });
  }

  /** Writes a series; `modifiedMs` is that of its first file, the others follow a second after each other. */
  write(
    process: ProcessInfo,
    files: readonly (readonly SegmentRecord[])[],
    place: {
      pid?: number;
      host?: string;
      startUnixMs?: number;
      date?: string;
      modifiedMs?: number;
      raw?: (bytes: Uint8Array, n: number) => Uint8Array;
    } = {},
  ): string[] {
    const date = join(this.dir, 'segments', place.date ?? '2020-01-01');
    mkdirSync(date, { recursive: true, mode: 0o700 });
    const id = {
      host: place.host ?? segmentHost(hostname()),
      pid: place.pid ?? DEAD_PID,
      threadId: 0,
      startUnixMs: place.startUnixMs ?? 1_700_000_000_000,
    };
    return files.map((records, n) => {
      const path = join(date, segmentFileName({ ...id, n }));
      const start: SegmentRecord = { type: 'segmentStart', process, startUnixNano: '1', n };
      const end: SegmentRecord = { type: 'segmentEnd', endUnixNano: '2', rotated: n < files.length - 1 };
      const frames = [start, ...records, end].map((record) => encodeRecord(record));
      const bytes = concatBytes([encodeSegmentHeader(), ...frames]);
      writeFileSync(path, place.raw ? place.raw(bytes, n) : bytes, { mode: 0o600 });
      const seconds = (place.modifiedMs ?? 1_700_000_000_000) / 1000 + n;
      utimesSync(path, seconds, seconds);
      return path;
    });
  }

  /** Bytes of everything below `segments`. */
  get sizeBytes(): number {
    return readAll(this.dir).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  }

  get paths(): string[] {
    return readAll(this.dir).map(({ path }) => path);
  }

  /** Every call that a reader lists loads, with its digest; gives their span ids. */
  async load(): Promise<Set<string>> {
    const store = createSegmentStore(this.dir);
    const spans = new Set<string>();
    const entries: StoredEntry[] = [];
    for await (const entry of store.list()) entries.push(entry);
    for (const entry of entries) {
      if (entry.status !== 'stored' && entry.status !== 'open') throw new Error(`${entry.status}: ${entry.ref}`);
      await store.load(entry);
      spans.add(entry.trace.spanId);
    }
    await store.close();
    return spans;
  }

  scope(needed: Partial<SweepScope> & { keepBytes?: number } = {}): SweepScope {
    const { keepBytes, ...rest } = needed;
    return {
      dir: this.dir,
      maxBytes: Number.MAX_SAFE_INTEGER,
      triggerBytes: keepBytes ?? Number.MAX_SAFE_INTEGER,
      targetBytes: keepBytes ?? Number.MAX_SAFE_INTEGER,
      maxAgeMs: undefined,
      own: undefined,
      keepFromN: () => 0,
      writtenBytes: () => 0,
      onSize: () => {},
      onLosses: () => {},
      ...rest,
    };
  }
}

interface ReadFile {
  path: string;
  sizeBytes: number;
  records: SegmentRecord[];
}

/** All segment files, by date and number, and what is left beside them. */
export function readAll(dir: string): ReadFile[] {
  const base = join(dir, 'segments');
  return readdirSync(base)
    .sort()
    .flatMap((date) =>
      readdirSync(join(base, date))
        .sort((a, b) => Number(/(\d+)\.obxs$/.exec(a)?.[1]) - Number(/(\d+)\.obxs$/.exec(b)?.[1]))
        .map((name) => join(base, date, name)),
    )
    .map((path) => ({
      path,
      sizeBytes: statSync(path).size,
      records: path.endsWith('.obxs') ? recordsOf(path) : [],
    }));
}

function recordsOf(path: string): SegmentRecord[] {
  try {
    return [...decodeSegment(readFileSync(path))].map(({ record }) => record);
  } catch {
    return [];
  }
}
