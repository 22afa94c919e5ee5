/**
 * Where the calls of one segment series stand: small facts per call, no bodies. Files that grew are read on from where
 * the last look ended.
 */
import type { DecodedFrame } from '@orangebox/codec';
import {
  type CallEndRecord,
  type DroppedRecord,
  OrangeboxError,
  type ProcessInfo,
  type RecordTypeName,
} from '@orangebox/schema';
import type { StoreProblem } from '../store.ts';
import { callFacts, type EntryFacts, type RecentFacts, toolFacts } from './entry-facts.ts';
import {
  type IndexedRecord,
  indexedCall,
  indexedOpen,
  indexedTool,
  type OpenExchange,
  openExchange,
  type Place,
} from './indexed-record.ts';
import { readFrames, type SegmentFile, writerLives } from './segment-file.ts';

interface IndexedFile {
  file: SegmentFile;
  /** Offset after the last frame that was read. */
  readTo: number;
  process: ProcessInfo | undefined;
  closed: boolean;
}

/** A process of another host (a container, a shared volume) that wrote nothing for this long is taken as ended, as by the recorder. */
const FOREIGN_IDLE_MS = 24 * 3600_000;
const SHARED_REQUESTS_MAX = 1000;

/** What the index reads; the other records belong to bodies. */
const INDEXED: ReadonlySet<RecordTypeName> = new Set<RecordTypeName>([
  'segmentStart',
  'exchangeStart',
  'callEnd',
  'tool',
  'shipped',
  'quarantined',
  'forgotten',
  'dropped',
  'segmentEnd',
]);

/** Index of one series. */
export class SeriesIndex {
  readonly name: string;
  readonly files: IndexedFile[] = [];
  readonly calls: IndexedRecord[] = [];
  readonly problems: Map<string, StoreProblem> = new Map();
  /** Drops that the recorder counted, by reason. */
  readonly dropped: Map<string, DroppedRecord> = new Map();
  readonly #exchanges: Map<number, OpenExchange> = new Map();
  readonly #bySpan: Map<string, IndexedRecord> = new Map();
  readonly #requests: Map<string, { method: string; url: string }> = new Map();
  readonly #recent: RecentFacts;

  constructor(name: string, recent: RecentFacts) {
    this.name = name;
    this.#recent = recent;
  }

  /** Whether its writer seems to be at work: the last file is not closed, or goes on in one to come, and the process lives. */
  get live(): boolean {
    const last = this.files.at(-1);
    return last !== undefined && !last.closed && writerLives(last.file);
  }

  /** Whether a file of it may still be written to. More careful than {@link live}: what was renamed under a writer is lost. */
  get mayBeWritten(): boolean {
    const last = this.files.at(-1);
    return last !== undefined && !last.closed && writerLives(last.file, FOREIGN_IDLE_MS);
  }

  /** What the process said of itself, in the named file first. */
  processes(file: number): ProcessInfo[] {
    const found = [this.files[file], ...this.files].flatMap((entry) => entry?.process ?? []);
    return [...new Map(found.map((process) => [JSON.stringify(process), process])).values()];
  }

  /** Takes in a file, or what was added to it since. Files come in the order of their number. False when nothing was new. */
  update(file: SegmentFile): boolean {
    const known = this.files.find((candidate) => candidate.file.path === file.path);
    if (known && known.file.sizeBytes === file.sizeBytes && known.file.modifiedMs === file.modifiedMs) return false;
    const entry = known ?? { file, readTo: 0, process: undefined, closed: false };
    entry.file = file;
    const index = known ? this.files.indexOf(known) : this.files.push(entry) - 1;
    this.#read(entry, index);
    return true;
  }

  #read(entry: IndexedFile, index: number): void {
    const { file } = entry;
    this.problems.delete(file.path);
    try {
      const range =
        entry.readTo > 0 ? { from: entry.readTo, scan: true, types: INDEXED } : { scan: true, types: INDEXED };
      const end = readFrames(file, range, (frame) => this.#visit(entry, index, frame));
      if (end.version > 0) entry.readTo = end.wholeBytes;
      if (end.frames > 0) entry.closed = end.closed;
      if (end.damagedFrames > 0) {
        this.#problem(
          file.path,
          'OBX_SEGMENT_DAMAGED',
          `${end.damagedBytes} bytes hold no valid frames; the rest was read`,
        );
      } else if (end.state === 'torn' && !writerLives(file)) {
        const bytes = file.sizeBytes - end.wholeBytes;
        this.#problem(
          file.path,
          'OBX_SEGMENT_TORN',
          `the last ${bytes} bytes are no whole frame: the process died writing`,
        );
      }
    } catch (error) {
      if (!(error instanceof OrangeboxError)) throw error;
      // Removed since it was listed, as a journal is with every call that is not kept.
      if (error.code === 'OBX_STORE_NOT_FOUND') return;
      this.#problem(file.path, error.code as `OBX_${string}`, error.message, error.hint);
    }
  }

  #problem(location: string, code: `OBX_${string}`, message: string, hint?: string): void {
    this.problems.set(location, { code, message, location, ...(hint === undefined ? {} : { hint }) });
  }

  #visit(entry: IndexedFile, file: number, frame: DecodedFrame): void {
    const { record } = frame;
    const place = { file, offset: frame.offset, sizeBytes: frame.sizeBytes };
    switch (record.type) {
      case 'segmentStart':
        entry.process ??= record.process;
        return;
      case 'exchangeStart':
        if (this.#exchanges.has(record.exchangeId)) return;
        this.#exchanges.set(record.exchangeId, openExchange(record, place, this.#shared(record.method, record.url)));
        return;
      case 'callEnd':
        this.#call(record, place);
        return;
      case 'tool':
        this.#add(indexedTool(this, record, place), () => toolFacts(record));
        return;
      case 'shipped': {
        const call = this.#bySpan.get(record.key.split('/')[3] ?? '');
        if (call) call.shipped = true;
        if (call) delete call.quarantined;
        return;
      }
      case 'quarantined': {
        const call = this.#bySpan.get(record.key.split('/')[3] ?? '');
        if (call && !call.shipped) call.quarantined = record.reason;
        return;
      }
      case 'forgotten':
        for (const id of record.exchangeIds) this.#exchanges.delete(id);
        return;
      case 'dropped':
        this.dropped.set(record.reason, record);
        return;
      default:
    }
  }

  #call(record: CallEndRecord, place: Place): void {
    const exchanges = record.exchangeIds.map((id) => this.#exchanges.get(id));
    for (const id of record.exchangeIds) this.#exchanges.delete(id);
    this.#add(indexedCall(this, record, place, exchanges), () => callFacts(record));
  }

  /** Most requests of a program have one of few URLs: equal ones are held once. */
  #shared(method: string, url: string): { method: string; url: string } {
    const name = `${method} ${url}`;
    const known = this.#requests.get(name);
    if (known) return known;
    if (this.#requests.size >= SHARED_REQUESTS_MAX) this.#requests.clear();
    const made = { method, url };
    this.#requests.set(name, made);
    return made;
  }

  #add(record: IndexedRecord, facts: () => EntryFacts): void {
    // A writer that was killed between two writes may have written a record twice; the first counts.
    if (this.#bySpan.has(record.spanId)) return;
    this.#bySpan.set(record.spanId, record);
    this.calls.push(record);
    this.#recent.keep(record, facts());
  }

  /** The ended call or tool execution of a span id. */
  find(spanId: string): IndexedRecord | undefined {
    return this.#bySpan.get(spanId);
  }

  /** Exchanges that no call names: open in a live process, crashed in a dead one. */
  open(): IndexedRecord[] {
    return [...this.#exchanges]
      .filter(([, exchange]) => !this.#bySpan.has(exchange.start.trace.spanId))
      .map(([id, exchange]) => indexedOpen(this, id, exchange));
  }
}
