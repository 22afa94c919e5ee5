/** Directories of recordings below a place. */
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { SEGMENTS_DIRECTORY } from '@orangebox/schema';
import { isDirectory } from '../locate.ts';

/** How far down is looked. */
const DEPTH_MAX = 6;
const PASSED_OVER: ReadonlySet<string> = new Set(['node_modules', '.git']);

/** All directories with segments at or below a place, in the order of their paths. Links are not followed. */
export function findRecordings(place: string, depth: number = DEPTH_MAX): string[] {
  if (isDirectory(join(place, SEGMENTS_DIRECTORY))) return [place];
  if (depth === 0) return [];
  return readdirSync(place)
    .filter((name) => !PASSED_OVER.has(name))
    .sort()
    .map((name) => join(place, name))
    .filter((path) => lstatSync(path).isDirectory())
    .flatMap((path) => findRecordings(path, depth - 1));
}
