/** Opens what the commands read: the segment directory, and the directory that ORANGEBOX_STORE names. */
import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { OrangeboxError, type Snapshot } from '@orangebox/schema';
import {
  createDirectoryStore,
  createMemoryStore,
  openStore as openPath,
  type ResolvedReference,
  resolveOne,
  resolveReference,
  type SnapshotStore,
  type StoredEntry,
} from '@orangebox/store';
import type { CommandContext } from './context.ts';
import { JoinedStore } from './joined-store.ts';
import { isDirectory, type Located, locate, nothingRecorded, placeOf } from './locate.ts';
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
  if (located.exists) stores.push(await openPath(located.dir));
  const named = context.env.store;
  if (named !== undefined && context.dir === undefined) stores.push(openNamed(context, named));
  const [first] = stores;
  if (first === undefined) {
    if (options.orEmpty === true) return { store: createMemoryStore(placeOf(context, located)), located };
    throw nothingRecorded(context, located);
  }
  return { store: stores.length === 1 ? first : new JoinedStore(stores), located };
}

function openNamed(context: CommandContext, named: string): SnapshotStore {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(named)) {
    throw usage(
      `ORANGEBOX_STORE names ${escapeLine(named)}, and this release reads directories only`,
      'name a directory, or unset it',
    );
  }
  const dir = resolve(context.cwd, named);
  if (!isDirectory(dir)) {
    throw new OrangeboxError('OBX_DIR_NOT_FOUND', `ORANGEBOX_STORE names ${escapeLine(dir)}, which is no directory`, {
      hint: 'make it, or unset ORANGEBOX_STORE',
    });
  }
  const names = readdirSync(dir);
  if (names.length > 0 && !names.includes('v1')) {
    throw new OrangeboxError(
      'OBX_DIR_NOT_FOUND',
      `ORANGEBOX_STORE names ${escapeLine(dir)}, which holds no v1/… of an object store`,
      {
        hint: 'a fetched snapshot is shown by its path, orangebox show FILE; recordings are read with --dir',
      },
    );
  }
  return createDirectoryStore(dir);
}

/** Looks a reference up. */
export async function lookUp(context: CommandContext, text: string, store: SnapshotStore): Promise<ResolvedReference> {
  return withProgress(context.terminal, () => 'looking it up', resolveReference(text, { store, cwd: context.cwd }));
}

/** Looks up a reference that must be one call, and loads it. */
export async function loadOne(
  context: CommandContext,
  text: string,
  store: SnapshotStore,
): Promise<{ entry: StoredEntry; snapshot: Snapshot; store: SnapshotStore }> {
  const load = async (): Promise<{ entry: StoredEntry; snapshot: Snapshot; store: SnapshotStore }> => {
    const found = await resolveOne(text, { store, cwd: context.cwd });
    return { ...found, snapshot: await found.store.load(found.entry) };
  };
  return withProgress(context.terminal, () => 'looking it up', load());
}
