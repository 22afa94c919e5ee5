/** The directory itself: there, ours, private, with room. */
import type { Dirent } from 'node:fs';
import { lstat, readdir, statfs } from 'node:fs/promises';
import { LEVEL_FILE } from '@orangebox/schema';
import { join } from 'node:path';
import { directorySize } from '../directory-size.ts';
import { errnoOf } from '../exit-codes.ts';
import type { Located } from '../locate.ts';
import { formatBytes, plural } from '../text/format.ts';
import type { Check } from './check.ts';

/** Bodies stop being written below this share of free disk. */
const MIN_FREE_SHARE = 0.05;

/** Checks place, owner, modes, the .gitignore and free space. */
export async function checkDirectory(located: Located): Promise<Check[]> {
  const name = 'directory';
  if (!located.exists) {
    const hint = 'record a program: npx orangebox run -- node app.js';
    return [{ name, result: 'warning', message: `${located.dir} is not there yet`, hint }];
  }
  const size = await directorySize(located.dir);
  const basis = located.basis === 'found' ? 'found from here' : `named by ${located.basis}`;
  const message = `${located.dir}, ${basis}: ${formatBytes(size.sizeBytes)} in ${plural(size.files, 'file')}`;
  return [{ name, result: 'ok', message }, await checkPermissions(located.dir), await checkFreeSpace(located.dir)];
}

async function checkPermissions(dir: string): Promise<Check> {
  const name = 'permissions';
  const mine = process.getuid?.();
  if (mine === undefined) return { name, result: 'ok', message: 'this system has no file modes to check' };
  const open: string[] = [];
  const foreign: string[] = [];
  let entries: Dirent[] = [];
  try {
    // With types, since without them links are followed.
    entries = await readdir(dir, { recursive: true, withFileTypes: true });
  } catch (error) {
    const hint = `check who owns it: ls -ld ${dir}`;
    return { name, result: 'problem', message: `${dir} cannot be listed (${errnoOf(error) ?? 'unknown error'})`, hint };
  }
  for (const path of [dir, ...entries.map((entry) => join(entry.parentPath, entry.name))]) {
    const facts = await lstat(path).catch(() => undefined);
    if (facts === undefined || path.endsWith('.gitignore')) continue;
    if (facts.uid !== mine) foreign.push(path);
    // What root says of the level a program of another user has to read; it holds one word.
    const forbidden = path === join(dir, LEVEL_FILE) ? 0o022 : 0o077;
    if ((facts.mode & forbidden) !== 0 && !facts.isSymbolicLink()) open.push(path);
  }
  const [firstForeign] = foreign;
  if (firstForeign !== undefined) {
    const hint = 'the owner can read your conversations; remove what is not yours, or name another directory';
    return {
      name,
      result: 'problem',
      message: `${plural(foreign.length, 'path')} of another user, first ${firstForeign}`,
      hint,
    };
  }
  if (open.length > 0) {
    const hint = `chmod -R go= ${dir}`;
    return {
      name,
      result: 'warning',
      message: `others can read ${plural(open.length, 'path')}, first ${open[0]}`,
      hint,
    };
  }
  const ignored = entries.some((entry) => entry.name === '.gitignore' && entry.parentPath === dir);
  if (!ignored) {
    return {
      name,
      result: 'warning',
      message: 'only you can read it, but git would take it in',
      hint: `echo '*' > ${join(dir, '.gitignore')}`,
    };
  }
  return { name, result: 'ok', message: 'only you can read it; git leaves it out' };
}

async function checkFreeSpace(dir: string): Promise<Check> {
  const name = 'disk';
  const facts = await statfs(dir).catch(() => undefined);
  if (facts === undefined || facts.blocks === 0) return { name, result: 'ok', message: 'free space is not known here' };
  const free = formatBytes(facts.bavail * facts.bsize);
  const share = facts.bavail / facts.blocks;
  const percent = `${Math.round(share * 100)} %`;
  if (share >= MIN_FREE_SHARE) return { name, result: 'ok', message: `${free} free (${percent})` };
  const hint = 'free some space, or delete old recordings: orangebox purge --before 7d';
  return { name, result: 'problem', message: `${free} free (${percent}): bodies are not recorded below 5 %`, hint };
}
