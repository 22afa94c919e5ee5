/** From the records of an index to list entries. */
import { type CallEndRecord, type ExchangeStartRecord, OrangeboxError, type ToolRecord } from '@orangebox/schema';
import type { StoredEntry } from '../store.ts';
import { entryOfSnapshot } from '../entry-of-snapshot.ts';
import { loadRecord, readRecordAt } from './read-record.ts';
import type { IndexedRecord } from './indexed-record.ts';

/** What a record alone tells of an entry. */
export type EntryFacts = Omit<StoredEntry, 'ref' | 'location' | 'status'>;

/** Entry facts kept in memory: the newest read ones, so that most lists read nothing twice. */
export class RecentFacts {
  readonly #capacity: number;
  readonly #ring: (IndexedRecord | undefined)[] = [];
  #next = 0;

  constructor(capacity = 20_000) {
    this.#capacity = capacity;
  }

  /** Keeps the facts of a record; forgets those of the oldest one when there are too many. */
  keep(indexed: IndexedRecord, facts: EntryFacts): void {
    const old = this.#ring[this.#next];
    if (old) delete old.facts;
    indexed.facts = facts;
    this.#ring[this.#next] = indexed;
    this.#next = (this.#next + 1) % this.#capacity;
  }
}

/** The entry of an indexed record, `ref` still empty; undefined when its file was rewritten meanwhile. */
export function readEntry(indexed: IndexedRecord): StoredEntry | undefined {
  if (indexed.type === 'open' && !indexed.series.live) return crashedEntry(indexed);
  const facts = indexed.facts ?? factsAt(indexed);
  if (!facts) return undefined;
  const [info] = indexed.series.processes(indexed.place.file);
  return {
    ref: '',
    ...facts,
    ...(indexed.type === 'call' ? { scope: indexed.scope } : {}),
    ...(indexed.request ? { request: indexed.request } : {}),
    status: statusOf(facts, indexed),
    location: indexed.series.files[indexed.place.file]?.file.path ?? '',
    ...(info
      ? { process: { pid: info.pid, threadId: info.threadId, host: info.host, serviceName: info.serviceName } }
      : {}),
    ...(indexed.shipped ? { shipped: true as const } : {}),
    ...(indexed.quarantined === undefined ? {} : { quarantined: indexed.quarantined }),
  };
}

/** No record sums up a call whose process died: its own bytes do. */
function crashedEntry(indexed: IndexedRecord): StoredEntry | undefined {
  const location = indexed.series.files[indexed.place.file]?.file.path ?? '';
  try {
    const entry = entryOfSnapshot(loadRecord(indexed), location);
    return { ...entry, unrecovered: true };
  } catch (error) {
    // One file that went away meanwhile does not end the listing.
    if (error instanceof OrangeboxError) return undefined;
    throw error;
  }
}

function factsAt(indexed: IndexedRecord): EntryFacts | undefined {
  const record = readRecordAt(indexed.series, indexed.place);
  switch (record?.type) {
    case 'callEnd':
      return callFacts(record);
    case 'tool':
      return toolFacts(record);
    case 'exchangeStart':
      return openFacts(record);
    default:
      return undefined;
  }
}

function statusOf(facts: EntryFacts, indexed: IndexedRecord): StoredEntry['status'] {
  if (indexed.type === 'open') return indexed.series.live ? 'open' : 'stored';
  if (facts.key === undefined) return 'not_kept';
  return indexed.incomplete ? 'lost' : 'stored';
}

/** Facts of a call; its scope stands in the first exchange. */
export function callFacts(record: CallEndRecord): EntryFacts {
  return {
    ...(record.key === undefined ? {} : { key: record.key }),
    kind: record.kind,
    trace: record.trace,
    ...(record.session ? { session: record.session } : {}),
    scope: [],
    time: record.time,
    summary: record.summary,
    ...(record.error ? { error: { type: record.error.type, message: record.error.message } } : {}),
    fidelity: record.fidelity,
    sizeBytes: record.sizeBytes,
    digest: record.digest,
    ...(record.chain ? { chain: record.chain } : {}),
    ...(record.attemptSpanIds ? { attemptSpanIds: record.attemptSpanIds } : {}),
  };
}

/** Facts of a tool execution. */
export function toolFacts(record: ToolRecord): EntryFacts {
  const { tool } = record;
  return {
    ...(record.key === undefined ? {} : { key: record.key }),
    kind: 'tool',
    trace: record.trace,
    ...(record.session ? { session: record.session } : {}),
    scope: record.scope,
    time: record.time,
    tool: {
      name: tool.name,
      basis: tool.basis,
      failed: tool.error !== undefined || record.error !== undefined,
      ...(tool.callId === undefined ? {} : { callId: tool.callId }),
      ...(tool.askedBy === undefined ? {} : { askedBy: tool.askedBy }),
    },
    ...(record.error ? { error: { type: record.error.type, message: record.error.message } } : {}),
    fidelity: record.fidelity,
    sizeBytes: record.sizeBytes,
    digest: record.digest,
  };
}

function openFacts(record: ExchangeStartRecord): EntryFacts {
  return {
    kind: record.kind,
    trace: record.trace,
    ...(record.session ? { session: { ...record.session, seq: 0, basis: 'declared' as const } } : {}),
    scope: record.scope,
    time: { startUnixNano: record.startUnixNano, endUnixNano: record.startUnixNano },
    summary: { ending: 'process_died', attempts: 1, stream: false },
    fidelity: { level: 'partial', reason: 'process_died' },
  };
}
