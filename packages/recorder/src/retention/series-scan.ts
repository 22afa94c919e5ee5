/** Reads what a series holds: its calls, and in which files their records stand. */
import { constants } from 'node:fs';
import * as fs from 'node:fs/promises';
import { isRunRecord } from '@orangebox/schema';
import { type KnownCall, PartedMap } from './calls.ts';
import type { ListedFile, ListedSeries } from './directory-files.ts';
import { walkFrames, type WalkedFrame, type WalkState } from './frame-walk.ts';
import type { Pace } from './pace.ts';
import { endFacts, exchangeIdOf, forgottenIdsOf, keySpanOf, pidNamespaceOf, startFacts } from './record-facts.ts';

/** A file of a series and what is known of it. */
export interface ScannedFile extends ListedFile {
  /** Undefined: not looked at. */
  state: WalkState | 'gone' | undefined;
  /** Nobody writes to it, and nobody holds places in it. */
  isClosed: boolean;
}

/** What is known across series. */
export interface DirectoryKnowledge {
  /** Calls and tool executions by span id; the first counts. */
  bySpan: PartedMap<string, KnownCall>;
  /** Span ids that a `shipped` record names. */
  shipped: PartedMap<string, true>;
  calls: number;
}

/** One series. */
export class SeriesScan {
  readonly name: string;
  readonly listed: ListedSeries;
  readonly files: ScannedFile[];
  readonly exchanges: PartedMap<number, KnownCall> = new PartedMap();
  /** Ended calls and tool executions. */
  readonly ended: KnownCall[] = [];
  readonly #open: Set<KnownCall> = new Set();
  /** Of the last `segmentStart` that names one. */
  pidNamespace: string | undefined;
  /** Somebody ships it at this time. */
  isClaimed = false;
  /** What stands before this place was shipped, whoever does it. */
  shipped: { n: number } | undefined;
  /** Number below which its files are closed if its writer can't be asked. */
  closeAsForeign: (() => number) | undefined;
  readonly #directory: DirectoryKnowledge;

  constructor(listed: ListedSeries, closedBelowN: number, directory: DirectoryKnowledge) {
    this.name = listed.name;
    this.listed = listed;
    this.#directory = directory;
    this.files = listed.files.map((file) => ({ ...file, state: undefined, isClosed: file.n < closedBelowN }));
  }

  get isScannedWhole(): boolean {
    return this.files.every(({ state }) => state !== undefined);
  }

  /** All calls, exchanges without an end included. */
  *calls(): IterableIterator<KnownCall> {
    yield* this.ended;
    yield* this.#open;
  }

  /** Reads one of its files. */
  async scan(index: number, pace: Pace): Promise<void> {
    const file = this.files[index];
    if (!file || file.state !== undefined) return;
    const handle = await openPlain(file.path, pace);
    if (!handle) {
      file.state = 'gone';
      return;
    }
    try {
      file.state = await walkFrames(handle, file.sizeBytes, pace, (frame) => this.#visit(frame, index, file));
    } catch {
      file.state = 'unclean';
    } finally {
      await pace.io(handle.close());
    }
  }

  #visit(frame: WalkedFrame, index: number, file: ScannedFile): void {
    if (isRunRecord(frame)) return;
    switch (frame.type) {
      case undefined:
      case 'segmentEnd':
      case 'dropped':
      case 'quarantined':
      case 'spansSent':
        return;
      case 'segmentStart':
        this.pidNamespace = pidNamespaceOf(frame) ?? this.pidNamespace;
        return;
      case 'shipped': {
        const spanId = keySpanOf(frame);
        if (spanId !== undefined) this.#directory.shipped.set(spanId, true);
        return;
      }
      case 'forgotten':
        for (const id of forgottenIdsOf(frame)) this.#exchange(id, index, file).isForgotten = true;
        return;
      case 'tool':
      case 'callEnd':
        this.#end(frame, index, file);
        return;
      default: {
        const id = exchangeIdOf(frame);
        if (id === undefined) return;
        const call = this.#exchange(id, index, file);
        touch(call, index, frame.sizeBytes);
        if (frame.type === 'exchangeStart' && !call.isKnown) {
          Object.assign(call, startFacts(frame), { isKnown: true, lacksStart: false });
        }
      }
    }
  }

  #end(frame: WalkedFrame, index: number, file: ScannedFile): void {
    const facts = endFacts(frame);
    if (!facts) return;
    const known = facts.exchangeIds.map((id) => this.exchanges.get(id));
    // A writer that was killed between two writes may have written a record twice; the first counts.
    const call =
      known.find((candidate) => candidate?.isEnded) ?? known.find((k) => k) ?? this.#newCall(index, file.modifiedMs);
    touch(call, index, frame.sizeBytes);
    for (const [i, id] of facts.exchangeIds.entries()) {
      const part = known[i];
      if (part && part !== call && !part.isEnded) {
        merge(call, part);
        this.#open.delete(part);
      }
      if (!part?.isEnded) this.exchanges.set(id, call);
    }
    if (call.isEnded) return;
    call.lacksStart = known.some((part) => part?.isKnown !== true);
    Object.assign(call, { isKnown: true, isEnded: true, spanId: facts.spanId, startMs: facts.startMs });
    call.isFailed = facts.isFailed;
    this.#open.delete(call);
    this.ended.push(call);
    const { bySpan } = this.#directory;
    if (!bySpan.get(facts.spanId)) bySpan.set(facts.spanId, call);
  }

  #exchange(id: number, index: number, file: ScannedFile): KnownCall {
    const known = this.exchanges.get(id);
    if (known) return known;
    const call = this.#newCall(index, file.modifiedMs);
    this.exchanges.set(id, call);
    this.#open.add(call);
    return call;
  }

  #newCall(index: number, startMs: number): KnownCall {
    this.#directory.calls++;
    return {
      spanId: '',
      startMs,
      sizeBytes: 0,
      first: index,
      last: index,
      isKnown: false,
      lacksStart: true,
      isEnded: false,
      isFailed: false,
      isShipped: false,
      isForgotten: false,
      goes: undefined,
    };
  }
}

/** Opens a file that is no link; undefined where it is gone. */
export async function openPlain(path: string, pace: Pace): Promise<fs.FileHandle | undefined> {
  try {
    return await pace.io(fs.open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)));
  } catch {
    return undefined;
  }
}

function touch(call: KnownCall, index: number, sizeBytes: number): void {
  call.sizeBytes += sizeBytes;
  call.first = Math.min(call.first, index);
  call.last = Math.max(call.last, index);
}

function merge(call: KnownCall, part: KnownCall): void {
  call.sizeBytes += part.sizeBytes;
  call.first = Math.min(call.first, part.first);
  call.last = Math.max(call.last, part.last);
  call.isForgotten ||= part.isForgotten;
}
