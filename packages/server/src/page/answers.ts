/** From an address to what is answered: the stores are asked, nothing is remembered. */
import { decodeBody, withViews } from '@orangebox/codec';
import { formatSnapshotKey, OrangeboxError, parseSnapshotKey, type Snapshot } from '@orangebox/schema';
import { joinLater, type ListFilter, type SnapshotStore, type StoredEntry } from '@orangebox/store';
import { callPage } from './call-page.ts';
import type { CommandWords } from './commands.ts';
import type { Page } from './document.ts';
import { noSuchPage, unknownPage, unloadablePage } from './state-pages.ts';
import { startPage } from './start-page.ts';
import { tracePage } from './trace-page.ts';
import { Unpacking } from './unpacking.ts';

/** A file to send. */
export interface RawFile {
  fileName: string;
  bytes: Uint8Array;
}

/** What an address stands for. */
export type Route =
  | { kind: 'start' }
  | { kind: 'trace'; traceId: string }
  /** `key` where the link had the snapshot's key for the span's id: some trace UIs can put only attributes into links. */
  | { kind: 'call'; traceId: string; spanId: string; key?: string }
  | { kind: 'snapshot'; traceId: string; spanId: string }
  | { kind: 'body'; traceId: string; spanId: string; exchange: number; side: 'request' | 'response' }
  | { kind: 'unknown' };

const ROUTE =
  /^\/t\/([0-9a-f]{1,32})(?:\/([0-9a-f]{1,16})(?:\/(snapshot\.json|raw\/([0-9]{1,4})\/(request|response)))?)?\/?$/i;

/** A link of Jaeger's: its link patterns know a span's attributes but not its id. The key has it. */
const KEYED = /^\/t\/[0-9a-f]{1,32}\/+(v1\/.{1,200})$/i;

/** Parses the path of a request. Some trace UIs strip leading zeros of ids. */
export function routeOf(encodedPath: string): Route {
  const path = decoded(encodedPath);
  if (path === '/') return { kind: 'start' };
  const keyed = KEYED.exec(path)?.[1];
  const parts = keyed === undefined ? undefined : parseSnapshotKey(keyed);
  if (parts) {
    const { traceId, spanId } = parts;
    return { kind: 'call', traceId, spanId, key: formatSnapshotKey(parts) };
  }
  const m = ROUTE.exec(path);
  if (!m) return { kind: 'unknown' };
  const traceId = (m[1] ?? '').toLowerCase().padStart(32, '0');
  if (m[2] === undefined) return { kind: 'trace', traceId };
  const spanId = m[2].toLowerCase().padStart(16, '0');
  if (m[3] === undefined) return { kind: 'call', traceId, spanId };
  if (m[3] === 'snapshot.json') return { kind: 'snapshot', traceId, spanId };
  const side = m[5] === 'request' ? 'request' : 'response';
  return { kind: 'body', traceId, spanId, exchange: Number(m[4]), side };
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Where answers come from. */
export interface AnswerOptions {
  store: SnapshotStore;
  words: CommandWords;
  nowMs: () => number;
}

/** The answer to a route. Rejects with `OrangeboxError` when the store cannot be asked. */
export async function answerTo(route: Route, options: AnswerOptions): Promise<Page | RawFile> {
  const { store } = options;
  if (route.kind === 'start') return startPage(store, options.nowMs());
  if (route.kind === 'unknown') return noSuchPage();
  const { traceId } = route;
  if (route.kind === 'trace') {
    const entries = await entriesOf(store, { traceId });
    return entries.length > 0 ? tracePage(traceId, entries) : unknownPage(traceId, undefined, store.location);
  }
  const { spanId } = route;
  const named = route.kind === 'call' && route.key !== undefined ? await entriesOf(store, { keys: [route.key] }) : [];
  const entries = named.length > 0 ? named : await entriesOf(store, { traceId, spanId });
  // An attempt's span leads to its call, but a call of just that id comes first.
  const entry = entries.find((candidate) => candidate.trace.spanId === spanId) ?? entries[0];
  if (entry === undefined) return unknownPage(traceId, spanId, store.location);
  let snapshot: Snapshot;
  try {
    snapshot = await store.load(entry);
  } catch (error) {
    if (!(error instanceof OrangeboxError)) throw error;
    return unloadablePage(entry, error, options.nowMs());
  }
  if (route.kind === 'snapshot')
    return { fileName: `${entry.trace.spanId}.snapshot.json`, bytes: Buffer.from(JSON.stringify(snapshot)) };
  if (route.kind === 'body') return bodyOf(snapshot, route.exchange, route.side) ?? noSuchPage();
  const unpacking = new Unpacking();
  const viewed = await withLater(snapshot, store, unpacking);
  return callPage(viewed, { words: options.words, running: entry.status === 'open', unpacking });
}

async function entriesOf(
  store: SnapshotStore,
  filter: Pick<ListFilter, 'traceId' | 'spanId' | 'keys'>,
): Promise<StoredEntry[]> {
  const entries: StoredEntry[] = [];
  for await (const entry of store.list({ ...filter, order: 'oldest' })) entries.push(entry);
  return entries;
}

/** What came after is shown where it can be found; a store that cannot search for it shows the call all the same. */
async function withLater(snapshot: Snapshot, store: SnapshotStore, { whole }: Unpacking): Promise<Snapshot> {
  const viewed = withViews(snapshot, whole);
  if (snapshot.kind !== 'llm' || (viewed.response?.toolCalls ?? []).length === 0) return viewed;
  try {
    return { ...viewed, ...(await joinLater(snapshot, store, whole)) };
  } catch (error) {
    if (error instanceof OrangeboxError) return viewed;
    throw error;
  }
}

function bodyOf(snapshot: Snapshot, index: number, side: 'request' | 'response'): RawFile | undefined {
  const body = snapshot.exchanges[index]?.[side]?.body;
  if (body === undefined) return undefined;
  return { fileName: `${snapshot.id}-${side}-${index}.txt`, bytes: decodeBody(body) };
}
