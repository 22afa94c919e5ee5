/**
 * Who works on a series: one file per series in `<DIR>/claims`, so that two never ship one series twice. A claim whose
 * holder is gone is taken over; what it had done is in its cursor.
 */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  futimesSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  opendirSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
  type Dir,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { threadId } from 'node:worker_threads';
import { segmentHost } from '@orangebox/schema';
import { nowMs } from '../timers.ts';
import type { Steps } from './slices.ts';
import { isNear, isSameProcess, ownPidNamespace, processStartMs, SILENT_MS, silentSinceMs } from './liveness.ts';

/** Directory of claims under `ORANGEBOX_DIR`. */
export const CLAIMS_DIRECTORY = 'claims';
/** A held claim is touched this often. */
export const TOUCH_MS = 10_000;
/** A thread that ended without its process left its claim to nobody. */
const NEAR_SILENT_MS = 600_000;
/** What belongs to no series is removed when it is that old. */
const ORPHAN_MS = 3600_000;
const MAX_CLAIM_BYTES = 64 * 1024;
const { O_CREAT, O_EXCL, O_RDONLY, O_RDWR, O_NOFOLLOW, O_NONBLOCK } = constants;

/** What a holder does. `program`: a recorder that ships its own calls; `start`: one that recovers what others left. */
const KINDS = ['program', 'recover', 'ship', 'start', 'sweep'] as const;

/** What the holder of a claim does. */
export type ClaimKind = (typeof KINDS)[number];

/** How far a live series was shipped: every record before this place is done. */
export interface Cursor {
  n: number;
  offset: number;
  /** Refused for good, with the reason. */
  quarantined: { key: string; reason: string; atUnixNano: string }[];
}

/** What stands in a claim. */
export interface ClaimContent {
  token: string;
  kind: ClaimKind;
  pid: number;
  host: string;
  pidNamespace?: string;
  startedMs?: number;
  threadId: number;
  cursor?: Cursor;
}

/** A claim that stands in a file. */
export interface FoundClaim {
  content: ClaimContent | undefined;
  modifiedMs: number;
  isFile: boolean;
}

/** A claim of ours. */
export class Claim {
  readonly #path: string;
  readonly #fd: number;
  readonly #content: ClaimContent;
  #sizeBytes = 0;
  #isOpen = true;

  /** @param fd the file, just made or taken over */
  constructor(path: string, fd: number, content: ClaimContent) {
    this.#path = path;
    this.#fd = fd;
    this.#content = content;
    this.#write();
  }

  /** What an earlier holder, or this one, had done. */
  get cursor(): Cursor | undefined {
    return this.#content.cursor;
  }

  /** Says that the holder lives; false when somebody else has taken the claim over. */
  touch(): boolean {
    if (!this.#isOpen || !this.isHeld()) return false;
    const now = new Date(nowMs());
    futimesSync(this.#fd, now, now);
    return true;
  }

  /** Whether the file is still ours. */
  isHeld(): boolean {
    if (!this.#isOpen) return false;
    try {
      return lstatSync(this.#path).ino === fstatSync(this.#fd).ino;
    } catch {
      return false;
    }
  }

  save(cursor: Cursor): void {
    this.#content.cursor = cursor;
    if (this.#isOpen) this.#write();
  }

  /** Ends it; nobody needs to know what was done. */
  release(): void {
    const isHeld = this.isHeld();
    this.keep();
    if (isHeld) removeQuietly(this.#path);
  }

  /** Lets go and leaves the cursor for whoever comes next. */
  keep(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    closeSync(this.#fd);
  }

  /** In place and with one write, so that a claim that was taken away is not written over the new one. */
  #write(): void {
    const text = JSON.stringify(this.#content);
    this.#sizeBytes = Math.max(this.#sizeBytes, 512, Buffer.byteLength(text));
    const bytes = Buffer.alloc(this.#sizeBytes, ' ');
    bytes.write(text);
    writeSync(this.#fd, bytes, 0, bytes.length, 0);
  }
}

/** Path of a series' claim. */
export function claimPath(dir: string, series: string): string {
  return join(dir, CLAIMS_DIRECTORY, `${series}.json`);
}

/** Path of the claim of the program that writes a series and ships it itself. */
export function programClaimPath(dir: string, series: string): string {
  return join(dir, CLAIMS_DIRECTORY, `${series}.program.json`);
}

/** Makes `<dir>/claims`; a real directory of ours. @throws when it is not, or can't be made */
export function prepareClaims(dir: string): void {
  const path = join(dir, CLAIMS_DIRECTORY);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const stat = lstatSync(path);
  if (!stat.isDirectory()) throw new Error(`${path} is not a directory`);
  const own = process.geteuid?.();
  if (own !== undefined && stat.uid !== own) throw new Error(`${path} belongs to another user`);
}

/**
 * Takes the claim of a series; undefined when somebody who lives has it.
 * @throws the file system's error where claims can't be written
 */
export function takeClaim(path: string, kind: ClaimKind): Claim | undefined {
  let cursor: Cursor | undefined;
  // The second try is after a stale one was removed; who comes in between has it.
  for (let tries = 0; tries < 2; tries++) {
    const claim = createClaim(path, kind, cursor);
    if (claim) return claim;
    const found = readClaim(path);
    if (!found) continue;
    if (!isStale(found)) return undefined;
    const removed = removeStale(path, found);
    if (!removed) return undefined;
    cursor = found.content?.cursor;
  }
  return undefined;
}

/** What stands in a claim file; undefined when there is none. */
export function readClaim(path: string): FoundClaim | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (!stat) return undefined;
  const found = { content: undefined, modifiedMs: stat.mtimeMs, isFile: stat.isFile() };
  if (!stat.isFile() || stat.size > MAX_CLAIM_BYTES) return found;
  try {
    const fd = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      const bytes = Buffer.alloc(MAX_CLAIM_BYTES);
      const size = readSync(fd, bytes, 0, bytes.length, 0);
      return { ...found, content: parseClaim(bytes.toString('utf8', 0, size)) };
    } finally {
      closeSync(fd);
    }
  } catch {
    return found;
  }
}

/** Whether its holder is gone. */
export function isStale({ content, modifiedMs, isFile }: FoundClaim): boolean {
  if (!isFile) return true;
  const silentMs = silentSinceMs(modifiedMs);
  if (!content || !isNear(content.host, content.pidNamespace)) return silentMs > SILENT_MS;
  return !isSameProcess(content.pid, content.startedMs) || silentMs > NEAR_SILENT_MS;
}

/** Removes what is left in the directory of claims for series that are gone. Never throws. */
export function* sweepClaims(dir: string, series: ReadonlySet<string>): Steps<void> {
  const directory = join(dir, CLAIMS_DIRECTORY);
  let entries: Dir | undefined;
  try {
    if (!lstatSync(directory).isDirectory()) return;
    // Piece by piece: a directory that every run of a small program leaves a series in has tens of thousands.
    entries = opendirSync(directory);
    for (let entry = entries.readSync(); entry; entry = entries.readSync()) {
      yield;
      const { name } = entry;
      if (series.has(name.split('.json')[0]?.replace(/\.(?:program|done)$/, '') ?? '') && !name.endsWith('.stale'))
        continue;
      const path = join(directory, name);
      const stat = lstatSync(path, { throwIfNoEntry: false });
      if (stat && nowMs() - stat.mtimeMs > ORPHAN_MS) removeQuietly(path);
    }
  } catch {
    // There is none, or it is not ours.
  } finally {
    entries?.closeSync();
  }
}

function createClaim(path: string, kind: ClaimKind, cursor: Cursor | undefined): Claim | undefined {
  let fd: number;
  try {
    fd = openSync(path, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW, 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined;
    throw error;
  }
  const pidNamespace = ownPidNamespace();
  const startedMs = processStartMs(process.pid);
  return new Claim(path, fd, {
    token: randomBytes(16).toString('hex'),
    kind,
    pid: process.pid,
    host: segmentHost(hostname()),
    ...(pidNamespace === undefined ? {} : { pidNamespace }),
    ...(startedMs === undefined ? {} : { startedMs }),
    threadId,
    ...(cursor ? { cursor } : {}),
  });
}

/** Takes a stale claim out of the way; false when another one stood there by then. */
function removeStale(path: string, judged: FoundClaim): boolean {
  const aside = `${path}.${randomBytes(8).toString('hex')}.stale`;
  try {
    renameSync(path, aside);
  } catch {
    return false;
  }
  const moved = readClaim(aside);
  if (moved?.content?.token === judged.content?.token && moved?.modifiedMs === judged.modifiedMs) {
    removeQuietly(aside);
    return true;
  }
  // Somebody was faster and this is theirs: it goes back, unless a third one has taken the place.
  try {
    linkSync(aside, path);
  } catch {
    // Its holder sees that it is gone.
  }
  removeQuietly(aside);
  return false;
}

function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // A directory somebody put there, or no permission any more: it bars nothing.
  }
}

function parseClaim(text: string): ClaimContent | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const {
    token,
    kind,
    pid,
    host,
    pidNamespace,
    startedMs,
    threadId: thread,
    cursor,
  } = value as Record<string, unknown>;
  if (typeof token !== 'string' || typeof host !== 'string' || !Number.isSafeInteger(pid)) return undefined;
  if (!KINDS.includes(kind as ClaimKind)) return undefined;
  const place = parseCursor(cursor);
  return {
    token,
    kind: kind as ClaimKind,
    pid: pid as number,
    host,
    threadId: typeof thread === 'number' ? thread : 0,
    ...(typeof pidNamespace === 'string' ? { pidNamespace } : {}),
    ...(typeof startedMs === 'number' ? { startedMs } : {}),
    ...(place ? { cursor: place } : {}),
  };
}

function parseCursor(value: unknown): Cursor | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { n, offset, quarantined } = value as Record<string, unknown>;
  if (!Number.isSafeInteger(n) || !Number.isSafeInteger(offset) || !Array.isArray(quarantined)) return undefined;
  return { n: n as number, offset: offset as number, quarantined: quarantined.flatMap(parseQuarantined) };
}

/** They become records: nothing but what such a record has is taken over. */
function parseQuarantined(value: unknown): Cursor['quarantined'] {
  if (typeof value !== 'object' || value === null) return [];
  const { key, reason, atUnixNano } = value as Record<string, unknown>;
  if (typeof key !== 'string' || typeof reason !== 'string' || typeof atUnixNano !== 'string') return [];
  return /^\d{1,19}$/.test(atUnixNano) ? [{ key, reason, atUnixNano }] : [];
}
