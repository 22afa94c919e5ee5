/** Opens what the commands read: the local recordings, a store of payloads, a trace backend, or several as one. */
import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { OrangeboxError } from '@orangebox/schema';
import {
  createDirectoryStore,
  createMemoryStore,
  createSegmentStore,
  createSourceStore,
  openStore as openPath,
  type SnapshotStore,
} from '@orangebox/store';
import type { CommandContext } from './context.ts';
import { JoinedStore } from './joined-store.ts';
import { lazySource } from './lazy-source.ts';
import { isDirectory, type Located, locate, nothingRecorded, placeOf } from './locate.ts';
import { openBucketStore } from './open-bucket-store.ts';
import { parseTime, usage } from './parse-options.ts';
import { findPlaces, type Places, shownUrl, type StorePlace } from './places.ts';
import { escapeLine } from './text/escape.ts';
import { type Window, WindowedStore } from './windowed-store.ts';

/** An opened store and where it is. */
export interface Opened {
  store: SnapshotStore;
  /** The directory of local recordings, read or not. */
  located: Located;
  places: Places;
  /** What `store` is made of. */
  parts: readonly SnapshotStore[];
  /** Those of them behind the network. */
  remote: readonly WindowedStore[];
}

/** How to open. */
export interface OpenOptions {
  /** An empty store where there are no recordings: a reference may be a file or URL. */
  orEmpty?: boolean;
  /** Local recordings are read even before there are any: a program may make them yet. */
  orNew?: boolean;
  /** Only what is on this machine: what deletes, or counts everything, has no business elsewhere. */
  onlyHere?: boolean;
}

/** Opens the places that the options, the context and the environment name. Nothing is asked over the network yet. */
export async function openStore(context: CommandContext, options: OpenOptions = {}): Promise<Opened> {
  const places = await findPlaces(context);
  const located = locate(context);
  const stores: SnapshotStore[] = [];
  const remote: WindowedStore[] = [];
  const local = places.local ? await openLocal(located, options) : undefined;
  if (local !== undefined) stores.push(local);
  const here = options.onlyHere === true;
  const window = windowOf(context);
  const addRemote = (store: SnapshotStore): void => {
    const windowed = new WindowedStore(store, window);
    remote.push(windowed);
    stores.push(windowed);
  };
  const payloads = places.store === undefined ? undefined : openPayloads(context, places, places.store);
  if (payloads !== undefined && places.store?.payloadsOnly !== true) {
    if (payloads.kind !== 'bucket') stores.push(payloads);
    else if (!here) addRemote(payloads);
  }
  if (places.source !== undefined && !here) addRemote(createSourceStore(lazySource(places.source), payloads));
  const [first] = stores;
  if (first === undefined) {
    if (options.orEmpty !== true) throw nothingRecorded(context, located);
    return { store: createMemoryStore(placeOf(context, located)), located, places, parts: stores, remote };
  }
  if (stores.length === 1 && remote.length === 0) return { store: first, located, places, parts: stores, remote };
  const { terminal } = context;
  const onFault = (fault: OrangeboxError): void =>
    terminal.note(terminal.errorColors.dim(escapeLine(`not searched: ${fault.message} [${fault.code}]`)));
  // New calls are kept on this machine, never in a bucket that others read.
  const keep = local ?? (remote.length === 0 ? first : null);
  return { store: new JoinedStore(stores, { onFault, keep }), located, places, parts: stores, remote };
}

async function openLocal({ dir, exists }: Located, { orNew }: OpenOptions): Promise<SnapshotStore | undefined> {
  if (exists) return openPath(dir);
  return orNew === true ? createSegmentStore(dir) : undefined;
}

function windowOf(context: CommandContext): Window | undefined {
  const { since } = context.places;
  return since === undefined ? undefined : { sinceUnixMs: parseTime(since, context.nowMs) };
}

/** The store of payloads: a bucket, or a directory laid out like one. */
export function openPayloads(context: CommandContext, places: Places, place: StorePlace): SnapshotStore {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(place.url)) {
    if (!/^(?:s3|file):/i.test(place.url)) {
      throw usage(
        `${place.basis} names ${shownUrl(place.url)}, which is no store`,
        'it takes s3://bucket/prefix or a directory',
      );
    }
    return openBucketStore(place.url, places.storeEnv);
  }
  const dir = resolve(context.cwd, place.url);
  if (!isDirectory(dir)) {
    throw new OrangeboxError('OBX_DIR_NOT_FOUND', `${place.basis} names ${escapeLine(dir)}, which is no directory`, {
      hint:
        place.basis === 'ORANGEBOX_STORE'
          ? 'make it, or unset ORANGEBOX_STORE'
          : 'name s3://bucket/prefix or a directory',
    });
  }
  const names = readdirSync(dir);
  if (names.length > 0 && !names.includes('v1')) {
    throw new OrangeboxError(
      'OBX_DIR_NOT_FOUND',
      `${place.basis} names ${escapeLine(dir)}, which holds no v1/… of an object store`,
      {
        hint: 'a fetched snapshot is shown by its path, orangebox show FILE; recordings are read with --dir',
      },
    );
  }
  return createDirectoryStore(dir);
}
