/** `orangebox fetch REF`: the snapshot as a file of its own. */
import { randomBytes } from 'node:crypto';
import { link, open, rename, stat, unlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { withViews } from '@orangebox/codec';
import { OrangeboxError } from '@orangebox/schema';
import { decodeContent } from '@orangebox/store';
import type { CommandContext } from '../context.ts';
import { EXIT, errnoOf } from '../exit-codes.ts';
import { loadOne } from '../look-up.ts';
import { openStore } from '../open-store.ts';
import { escapeLine } from '../text/escape.ts';
import { formatBytes } from '../text/format.ts';
import { waitOf } from '../wait.ts';

/** Options of `fetch`. */
export interface FetchOptions {
  output?: string;
  force?: boolean;
  wait?: string | boolean;
}

/** Writes the snapshot to `-o`, `-` for standard output, by default `<ref>.snapshot.json` here. */
export async function fetchSnapshot(
  context: CommandContext,
  reference: string,
  options: FetchOptions,
): Promise<number> {
  const { store } = await openStore(context, { orEmpty: true });
  const { entry, snapshot } = await loadOne(context, reference, store, { waitMs: waitOf(options.wait) });
  await store.close();
  const text = `${JSON.stringify(withViews(snapshot, decodeContent), undefined, 2)}\n`;
  if (options.output === '-') {
    context.terminal.bytes(new TextEncoder().encode(text));
    return EXIT.ok;
  }
  // The span id comes from a recording; only its hexadecimal digits become part of a path.
  const name = `${entry.ref.replace(/[^0-9a-f]/g, '')}.snapshot.json`;
  const path = await target(resolve(context.cwd, options.output ?? name), name);
  await writeBeside(path, text, options.force === true);
  context.terminal.line(path);
  if (context.terminal.errorInteractive) {
    context.terminal.note(`${formatBytes(Buffer.byteLength(text))}, digest ${snapshot.digest.slice(0, 16)}… checked`);
  }
  return EXIT.ok;
}

async function target(path: string, name: string): Promise<string> {
  const isDirectory = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  return isDirectory ? join(path, name) : path;
}

/** Writes beside, syncs, then takes the name in one step, so that nobody ever reads half a file and nothing is overwritten unasked. */
async function writeBeside(path: string, text: string, force: boolean): Promise<void> {
  const beside = join(dirname(path), `.orangebox-${randomBytes(6).toString('hex')}.tmp`);
  try {
    const file = await open(beside, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    // A link fails where the name is taken, a rename replaces it.
    if (force) await rename(beside, path);
    else await takeName(beside, path);
  } catch (error) {
    throw writeError(error, path);
  } finally {
    await unlink(beside).catch(() => undefined);
  }
}

async function takeName(beside: string, path: string): Promise<void> {
  try {
    await link(beside, path);
  } catch (error) {
    // File systems without hard links: take the name with an empty file, then put the whole one there.
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK'].includes(errnoOf(error) ?? '')) throw error;
    await (await open(path, 'wx', 0o600)).close();
    await rename(beside, path);
  }
}

function writeError(error: unknown, path: string): OrangeboxError {
  const code = errnoOf(error);
  if (code === 'EEXIST') {
    return new OrangeboxError('OBX_FILE_EXISTS', `${escapeLine(path)} is there already`, {
      hint: 'name another file with -o, or overwrite it with --force',
    });
  }
  return new OrangeboxError(
    'OBX_FILE_NOT_WRITABLE',
    `${escapeLine(path)} cannot be written (${code ?? String(error)})`,
    {
      hint: 'name another place with -o',
      cause: error,
    },
  );
}
