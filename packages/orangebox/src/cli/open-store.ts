/** Opens what the commands read: the segment directory, and the directory that ORANGEBOX_STORE names. */
import { resolve } from 'node:path';
import { OrangeboxError, type Snapshot } from '@orangebox/schema';
import {
  createMemoryStore,
  openDirectoryStore,
  openSegmentStore,
  type ResolvedReference,
  resolveReference,
  type SnapshotStore,
  type StoredEntry,
} from '@orangebox/store';
import type { CommandContext } from './context.ts';
import { JoinedStore } from './joined-store.ts';
import { isDirectory, type Located, locate, nothingRecorded } from './locate.ts';
import { usage } from './parse-options.ts';
import { withProgress } from './progress.ts';
import { escapeLine } from './text/escape.ts';

/** An opened store and where it is. */
export interface Opened {
  store: SnapshotStore;
  located: Located;
}

/** Opens the store. `orEmpty`: an empty one where there are no recordings (a reference may be a file). */
export async function openStore(context: CommandContext, options: { orEmpty?: boolean } = {}): Promise<Opened> {
  const located = locate(context);
  const stores: SnapshotStore[] = [];
  if (located.exists) stores.push(await openSegmentStore(located.dir));
  const named = context.env.store;
  if (named !== undefined && context.dir === undefined) stores.push(await openNamed(context, named));
  const [first] = stores;
  if (first === undefined) {
    if (options.orEmpty === true) return { store: createMemoryStore(), located };
    throw nothingRecorded(context, located);
  }
  return { store: stores.length === 1 ? first : new JoinedStore(stores), located };
}

async function openNamed(context: CommandContext, named: string): Promise<SnapshotStore> {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(named)) {
    throw usage(`ORANGEBOX_STORE names ${escapeLine(named)}, and this release reads directories only`, 'name a directory, or unset it');
  }
  const dir = resolve(context.cwd, named);
  if (!isDirectory(dir)) {
    throw new OrangeboxError('OBX_DIR_NOT_FOUND', `ORANGEBOX_STORE names ${escapeLine(dir)}, which is no directory`, {
      hint: 'make it, or unset ORANGEBOX_STORE',
    });
  }
  return openDirectoryStore(dir);
}

/** Looks a reference up. */
export async function lookUp(context: CommandContext, text: string, store: SnapshotStore): Promise<ResolvedReference> {
  return withProgress(
    context.terminal,
    () => 'looking it up',
    resolveReference(text, { store, cwd: context.cwd }),
  );
}

/** The one call that a reference names: of a session or trace its last LLM call. */
export function oneEntry(text: string, resolved: ResolvedReference): StoredEntry {
  const entry = resolved.entries.findLast((e) => e.kind === 'llm') ?? resolved.entries.at(-1);
  if (entry === undefined) throw new OrangeboxError('OBX_REFERENCE_NOT_FOUND', `nothing is recorded under ${escapeLine(text)}`);
  return entry;
}

/** Looks up a reference that must be one call, and loads it. */
export async function loadOne(
  context: CommandContext,
  text: string,
  store: SnapshotStore,
): Promise<{ entry: StoredEntry; snapshot: Snapshot; store: SnapshotStore }> {
  const resolved = await lookUp(context, text, store);
  if (resolved.entries.length > 1) {
    throw usage(
      `${escapeLine(text)} is a ${resolved.kind} of ${resolved.entries.length} calls, and this takes one call`,
      `choose one of: ${resolved.entries
        .slice(-8)
        .map((e) => e.ref)
        .join(' ')}`,
    );
  }
  const entry = oneEntry(text, resolved);
  return { entry, snapshot: await resolved.store.load(entry), store: resolved.store };
}
