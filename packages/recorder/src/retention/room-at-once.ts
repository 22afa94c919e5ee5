/**
 * Room for a process that finds its directory full: some milliseconds of work before its first file is made, since a process
 * of a second or two ends before a sweep has got anywhere. Whole calls only.
 */
import { hostname } from 'node:os';
import { type SegmentFileId, segmentHost } from '@orangebox/schema';
import { type Claim, claimPath, isStale, prepareClaims, readClaim, takeClaim } from '../recovery/claims.ts';
import { hasWriter, isNear } from '../recovery/liveness.ts';
import { lookAgain } from '../recovery/series-files.ts';
import type { SegmentFs } from '../segment-directory.ts';
import { monotonicMs } from '../timers.ts';
import { type FileFacts, readFileFacts } from './file-facts.ts';
import type { Loss } from './losses.ts';
import { type OldFile, listOldest } from './oldest-files.ts';
import { FOREIGN_IDLE_MS } from './thresholds.ts';

/** What is wanted. */
export interface RoomAtOnceJob {
  dir: string;
  /** So much may stay. */
  keepBytes: number;
  /** Size of the directory as the mark says, where it has too many files to be listed at once. */
  markedBytes: number;
  own: Omit<SegmentFileId, 'n'>;
  nowMs: number;
  fs: SegmentFs;
}

/** What was done. */
export interface RoomAtOnce {
  /** Size of the directory now. */
  usedBytes: number;
  freedBytes: number;
  loss: Loss;
}

/** Larger files are read only where the smaller ones are too few. */
const SMALL_BYTES = 256 * 1024;
/** Files that are looked at whatever the time, and at most. */
const LOOK_MIN = 32;
const LOOK_MAX = 256;
const LOOK_MS = 4;

/** Takes the oldest files of processes that have ended: first those without failed calls, sent ones before others. Never throws. */
export function makeRoomAtOnce(job: RoomAtOnceJob): RoomAtOnce {
  const { files, totalBytes, isWhole } = listOldest(job.dir, job.fs);
  const done: RoomAtOnce = {
    usedBytes: isWhole ? totalBytes : Math.max(totalBytes, job.markedBytes),
    freedBytes: 0,
    loss: { unsent: 0, sent: 0, unsentBytes: 0, sentBytes: 0 },
  };
  const neededBytes = done.usedBytes - job.keepBytes;
  if (neededBytes <= 0) return done;
  try {
    prepareClaims(job.dir);
    for (const { file, facts } of inOrder(files, neededBytes, job)) {
      if (done.freedBytes >= neededBytes) break;
      take(file, facts, { job, done });
    }
  } catch {
    // Claims can't be written: nothing is taken.
  }
  done.usedBytes -= done.freedBytes;
  return done;
}

interface Candidate {
  file: OldFile;
  /** Undefined: not read yet. */
  facts: FileFacts | undefined;
}

/** Classes of files, first to go first: all sent; not all; with failed calls that were sent; the rest. */
type FileClass = 0 | 1 | 2 | 3;

/** Files that may go, in the order in which they do. */
function inOrder(files: readonly OldFile[], neededBytes: number, job: RoomAtOnceJob): Candidate[] {
  const byClass: Record<FileClass, Candidate[]> = { 0: [], 1: [], 2: [], 3: [] };
  const bytes: Record<FileClass, number> = { 0: 0, 1: 0, 2: 0, 3: 0 };
  const until = monotonicMs() + LOOK_MS;
  let looked = 0;
  for (const file of files) {
    if (looked >= LOOK_MAX || (looked >= LOOK_MIN && monotonicMs() > until)) break;
    if (bytes[0] >= neededBytes || (looked >= LOOK_MIN && bytes[0] + bytes[1] >= neededBytes)) break;
    if (!isClosed(file, job)) continue;
    looked++;
    const facts = file.sizeBytes <= SMALL_BYTES ? factsOf(file, job.fs) : undefined;
    const name = facts ? classOf(facts) : 3;
    byClass[name].push({ file, facts });
    bytes[name] += file.sizeBytes;
  }
  return [...byClass[0], ...byClass[1], ...byClass[2], ...byClass[3]];
}

function classOf({ calls, shipped, open, elsewhere, isClean }: FileFacts): FileClass {
  if (!isClean || open.size > 0 || elsewhere.size > 0) return 3;
  const isSent = calls.every(({ spanId }) => shipped.has(spanId));
  if (calls.some(({ isFailed }) => isFailed)) return isSent ? 2 : 3;
  return isSent ? 0 : 1;
}

/** Nobody writes to it, and nobody ships it. */
function isClosed({ id, series, modifiedMs }: OldFile, { own, nowMs, dir }: RoomAtOnceJob): boolean {
  const { host, pid, threadId, startUnixMs } = id;
  if (host === own.host && pid === own.pid && threadId === own.threadId && startUnixMs === own.startUnixMs)
    return false;
  const isHere = host === segmentHost(hostname());
  if (isHere ? hasWriter(pid, startUnixMs) : nowMs - modifiedMs <= FOREIGN_IDLE_MS) return false;
  const claim = readClaim(claimPath(dir, series));
  return claim === undefined || isStale(claim);
}

function factsOf({ path, sizeBytes }: OldFile, fs: SegmentFs): FileFacts | undefined {
  try {
    return readFileFacts(path, sizeBytes, fs);
  } catch {
    return undefined;
  }
}

function take(
  file: OldFile,
  read: FileFacts | undefined,
  { job, done }: { job: RoomAtOnceJob; done: RoomAtOnce },
): void {
  const facts = read ?? factsOf(file, job.fs);
  if (!facts) return;
  // Its process number means nothing here.
  if (!isNear(file.id.host, facts.pidNamespace) && job.nowMs - file.modifiedMs <= FOREIGN_IDLE_MS) return;
  // It only says what became of calls in other files.
  if (facts.isClean && facts.calls.length === 0 && facts.open.size === 0) return;
  let claim: Claim | undefined;
  try {
    claim = takeClaim(claimPath(job.dir, file.series), 'sweep');
    if (!claim || !isAlone(file, facts, job.dir)) return;
    job.fs.unlinkSync(file.path);
    done.freedBytes += file.sizeBytes;
    count(done.loss, file, facts);
  } catch {
    // It stays.
  } finally {
    if (claim?.cursor) claim.keep();
    else claim?.release();
  }
}

/** Nothing that stays in other files of the series belongs to its calls. */
function isAlone(
  { id: { n: _, ...id }, series: name, path }: OldFile,
  { open, elsewhere, isClean }: FileFacts,
  dir: string,
): boolean {
  if (isClean && open.size === 0 && elsewhere.size === 0) return true;
  return lookAgain({ name, id, files: [] }, dir).files.every((other) => other.path === path);
}

function count(loss: Loss, { sizeBytes }: OldFile, { calls, shipped, open, isClean }: FileFacts): void {
  for (const call of calls) {
    if (shipped.has(call.spanId)) {
      loss.sent++;
      loss.sentBytes += call.sizeBytes;
    } else {
      loss.unsent++;
      loss.unsentBytes += call.sizeBytes;
    }
  }
  // What has no end counts as one each; what can't be read as one.
  const others = open.size > 0 ? open.size : !isClean && calls.length === 0 ? 1 : 0;
  loss.unsent += others;
  if (others > 0) loss.unsentBytes += Math.max(0, sizeBytes - calls.reduce((sum, call) => sum + call.sizeBytes, 0));
}
