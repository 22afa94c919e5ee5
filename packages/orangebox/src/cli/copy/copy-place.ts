/** What `copy` reads from or writes to: objects in a bucket or a directory, or the recordings of a program. */
import { mkdirSync, readdirSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { DEFAULT_DIRECTORY, OBJECTS_DIRECTORY, OrangeboxError, SEGMENTS_DIRECTORY } from '@orangebox/schema';
import {
  createBucketStore,
  createSegmentStore,
  type ObjectBucket,
  openBucket,
  type SnapshotStore,
} from '@orangebox/store';
import { namesHint, readConfigFile } from '../config-file.ts';
import type { CommandContext } from '../context.ts';
import { isDirectory } from '../locate.ts';
import { usage } from '../parse-options.ts';
import { findPlaces, shownUrl, withSettings } from '../places.ts';
import { escapeLine } from '../text/escape.ts';

/** One end of a copy. */
export interface CopyPlace {
  location: string;
  store: SnapshotStore;
  /** The objects behind the store; recordings of a program have none. */
  bucket?: ObjectBucket;
}

/** Opens `s3://bucket/prefix`, a directory, or `context:NAME`. A target directory that is not there is made. */
export async function openCopyPlace(context: CommandContext, text: string, role: 'src' | 'dst'): Promise<CopyPlace> {
  const name = /^context:(.*)$/.exec(text)?.[1];
  if (name !== undefined) {
    const { contexts } = await readConfigFile(context);
    const chosen = contexts.get(name);
    if (chosen === undefined) throw usage(`there is no context "${escapeLine(name)}"`, namesHint(contexts, name));
    if (chosen.store === undefined) {
      throw usage(`context "${escapeLine(name)}" names no store`, 'give it one: "store": "s3://bucket/prefix"');
    }
    return openText(context, chosen.store, role, withSettings(context.env.all, chosen));
  }
  return openText(context, text, role, (await findPlaces(context)).storeEnv);
}

function openText(context: CommandContext, text: string, role: 'src' | 'dst', env: NodeJS.ProcessEnv): CopyPlace {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) {
    if (!/^(?:s3|file):/i.test(text))
      throw usage(`${shownUrl(text)} is no store`, 'use s3://bucket/prefix, a directory, or context:NAME');
    return objects(openBucket(text, { env, cwd: context.cwd }));
  }
  const path = resolve(context.cwd, text);
  const inner = join(path, DEFAULT_DIRECTORY);
  if (isDirectory(path)) {
    const names = readdirSync(path);
    if (names.includes(SEGMENTS_DIRECTORY) || names.includes(OBJECTS_DIRECTORY)) return recordings(path);
    if (names.includes('v1') || (role === 'dst' && names.length === 0)) return objects(openBucket(path, { env }));
    if (isDirectory(inner)) return recordings(inner);
    if (basename(path) === DEFAULT_DIRECTORY && role === 'dst') return recordings(path);
    throw new OrangeboxError(
      'OBX_DIR_NOT_FOUND',
      `${escapeLine(path)} holds neither recordings nor a v1/… of objects`,
      {
        hint:
          role === 'src'
            ? 'name the .orangebox directory, or one that was copied to'
            : 'name an empty directory or a new one',
      },
    );
  }
  if (role === 'src') {
    throw new OrangeboxError('OBX_DIR_NOT_FOUND', `there is no directory ${escapeLine(path)}`, {
      hint: 'copy takes s3://bucket/prefix, a directory, or context:NAME',
    });
  }
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return basename(path) === DEFAULT_DIRECTORY ? recordings(path) : objects(openBucket(path, { env }));
}

function objects(bucket: ObjectBucket): CopyPlace {
  return { location: bucket.location, bucket, store: createBucketStore(bucket) };
}

function recordings(path: string): CopyPlace {
  return { location: path, store: createSegmentStore(path) };
}
