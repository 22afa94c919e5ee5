/** From a reference that a person typed to calls, wherever they are; what is still on its way is waited for. */
import { OrangeboxError, type Snapshot } from '@orangebox/schema';
import {
  createSourceStore,
  openTraceSource,
  type ReferenceOptions,
  type ResolvedReference,
  resolveOne,
  resolveReference,
  type SnapshotStore,
  type StoredEntry,
} from '@orangebox/store';
import type { CommandContext } from './context.ts';
import { JoinedStore } from './joined-store.ts';
import { LenientStore } from './lenient-store.ts';
import { openBucketStore } from './open-bucket-store.ts';
import { isUnreachable } from './place-faults.ts';
import { findPlaces } from './places.ts';
import { withProgress } from './progress.ts';
import { renderKnownFacts } from './show/known-facts.ts';
import { notePen } from './show/pen.ts';
import { isOnItsWay, waitFor } from './wait.ts';
import { WindowedStore, windowAround } from './windowed-store.ts';

/** How to look up. */
export interface LookUpOptions {
  /** Milliseconds to wait for what is promised and not there; without it nothing is waited for. */
  waitMs?: number | undefined;
}

/** Looks a reference up. What is still missing after the wait is told by whoever loads it. */
export async function lookUp(
  context: CommandContext,
  text: string,
  store: SnapshotStore,
  options: LookUpOptions = {},
): Promise<ResolvedReference> {
  let found: ResolvedReference | undefined;
  const attempt = async (): Promise<ResolvedReference> => {
    found = await resolve(context, text, store, (how) => resolveReference(text, how));
    if (options.waitMs !== undefined) {
      for (const entry of found.entries) if (entry.status === 'promised') await found.store.load(entry);
    }
    return found;
  };
  const work = waitFor(context, options.waitMs, attempt, (error) => mayCome(error, text, store));
  return withProgress(
    context.terminal,
    () => 'looking it up',
    work.catch((error: unknown) => {
      if (found === undefined || !(error instanceof OrangeboxError)) throw error;
      return found;
    }),
  );
}

/** A call that was looked up and loaded. */
export interface LoadedCall {
  entry: StoredEntry;
  snapshot: Snapshot;
  store: SnapshotStore;
}

/** Looks up a reference that must be one call, and loads it. Of one that is gone, what the list knows goes to standard error. */
export async function loadOne(
  context: CommandContext,
  text: string,
  store: SnapshotStore,
  options: LookUpOptions = {},
): Promise<LoadedCall> {
  let found: { entry: StoredEntry; store: SnapshotStore } | undefined;
  const attempt = async (): Promise<LoadedCall> => {
    found = undefined;
    found = await resolve(context, text, store, (how) => resolveOne(text, how));
    return { ...found, snapshot: await found.store.load(found.entry) };
  };
  const work = waitFor(context, options.waitMs, attempt, (error) => mayCome(error, text, store));
  try {
    return await withProgress(context.terminal, () => 'looking it up', work);
  } catch (error) {
    if (found !== undefined && error instanceof OrangeboxError)
      renderKnownFacts(notePen(context.terminal), found.entry, context.nowMs);
    throw error;
  }
}

/** A span that nobody knows yet may come too, where spans and payloads come from elsewhere. */
function mayCome(error: unknown, text: string, store: SnapshotStore): boolean {
  if (isOnItsWay(error)) return true;
  const isElsewhere = isUrl(text) || (store instanceof JoinedStore && store.isRemote);
  return isElsewhere && error instanceof OrangeboxError && error.code === 'OBX_REF_UNKNOWN';
}

/** Whether a reference is an address of a bucket or of a trace UI. */
export function isUrl(text: string): boolean {
  return /^(?:s3|https?):\/\//i.test(text.trim());
}

/** Resolves with every place that answers; one that does not is the answer only when nothing was found. */
async function resolve<T extends { store: SnapshotStore; entries?: StoredEntry[]; entry?: StoredEntry }>(
  context: CommandContext,
  text: string,
  store: SnapshotStore,
  by: (options: ReferenceOptions) => Promise<T>,
): Promise<T> {
  const lenient = store instanceof JoinedStore ? new LenientStore(store) : undefined;
  if (store instanceof JoinedStore) store.retry();
  try {
    const found = await by({ store: lenient ?? store, cwd: context.cwd, ...hooks(context, store) });
    const [first] = found.entries ?? [found.entry];
    if (found.store === lenient) {
      if (first !== undefined && store instanceof JoinedStore) store.assume(windowAround(first));
      return { ...found, store };
    }
    // A store that was opened for a URL is searched around the call only.
    if (isUrl(text) && first !== undefined)
      return { ...found, store: new WindowedStore(found.store, windowAround(first)) };
    return found;
  } catch (error) {
    const [fault] = lenient?.faults ?? [];
    const isUnknown = error instanceof OrangeboxError && /^OBX_REF_(?:UNKNOWN|NOTHING_RECORDED)$/.test(error.code);
    if (!isUnknown || fault === undefined) throw error;
    if (!(store instanceof JoinedStore) || !isAnswered(text, store, lenient?.faults ?? [])) {
      if (store instanceof JoinedStore) store.note(lenient?.faults.slice(1) ?? []);
      throw fault;
    }
    throw new OrangeboxError(error.code as 'OBX_', error.message, {
      hint: `a bucket is searched with --since 2h only, or by trace and span id; looked in ${store.location}`,
    });
  }
}

/** Whether a place answered, so that the missing time of a bucket is a hint: what is local, a backend, or, of a trace, the bucket. */
function isAnswered(text: string, store: JoinedStore, faults: readonly OrangeboxError[]): boolean {
  if (faults[0]?.code !== 'OBX_STORE_SINCE_REQUIRED') return false;
  if (!store.isAllRemote) return true;
  return !faults.some(isUnreachable) && (!store.isOne || /^[0-9a-f]{32}$/i.test(text.trim()));
}

/** How URLs are opened: with the bucket's credentials, and with the source's headers only at the source itself. */
function hooks(
  context: CommandContext,
  store: SnapshotStore,
): Pick<ReferenceOptions, 'openBucketUrl' | 'openSourceUrl'> {
  return {
    openBucketUrl: async (url) => {
      const places = await findPlaces(context);
      return openBucketStore(url, places.storeEnv);
    },
    // A configured source was asked before, and a page of another backend is not this one's business: what was pasted may
    // come from anywhere, so its own origin is asked only where nobody named a backend, and never with headers.
    openSourceUrl: async (base) => {
      const { source } = await findPlaces(context);
      return source === undefined ? createSourceStore(await openTraceSource(base), store) : undefined;
    },
  };
}
