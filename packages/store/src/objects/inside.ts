/** Whether a folder of a directory store stands in it: a link in the middle of a path would lead anywhere. */
import { realpath } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import { fsCode } from '../safe-fs.ts';

/**
 * Whether a folder below `base`, or what exists of the way to it, stays below `base` once links are followed; `base` may
 * be a link itself. Who can plant links while this looks can also write the files: no lock is made of it.
 *
 * @param folder Path relative to `base`, without `..`.
 */
export async function staysInside(base: string, folder: string): Promise<boolean> {
  const top = resolve(base);
  let path = join(top, folder);
  // Both at once: most of the time this takes is the way to the thread pool and back.
  const [real, first] = await Promise.all([realOrAbsent(top), realOrAbsent(path)]);
  let found = first;
  while (found === undefined) {
    path = dirname(path);
    if (path.length <= top.length) return true;
    found = await realOrAbsent(path);
  }
  return real === undefined || found === real || found.startsWith(real.endsWith(sep) ? real : real + sep);
}

async function realOrAbsent(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch (error) {
    // A ring of links is none that anything can be read through.
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(fsCode(error) ?? '')) return undefined;
    throw error;
  }
}
