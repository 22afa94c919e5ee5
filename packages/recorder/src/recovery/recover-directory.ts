/** One pass over a directory of recordings: every series whose process has ended. */
import * as fs from 'node:fs';
import { OrangeboxError } from '@orangebox/schema';
import { type Claim, prepareClaims, programClaimPath, readClaim, sweepClaims } from './claims.ts';
import { readDone } from './done-marks.ts';
import { hasWriter, isNear, SILENT_MS, silentSinceMs } from './liveness.ts';
import { noCounts, type RecoveryCounts, type RecoveryHost, recoverSeries } from './recover-series.ts';
import { scanFrames } from './record-reader.ts';
import { SameThread } from './same-thread.ts';
import { findSeries, type Series } from './series-files.ts';
import { breaksOf, inSlices } from './slices.ts';
import { messageOf } from '../report.ts';

/** What a pass did. */
export interface RecoveryReport extends RecoveryCounts {
  /** Series that something was done or looked for in. */
  series: number;
  /** Series that somebody else was at. */
  busy: number;
}

/**
 * Recovers all series of processes that have ended.
 * @throws OrangeboxError `OBX_RECOVER_UNREADABLE`, `OBX_RECOVER_NOT_WRITABLE`
 */
export async function recoverDirectory(
  host: RecoveryHost,
  onSeries: (counts: RecoveryCounts) => void = () => {},
): Promise<RecoveryReport> {
  const report: RecoveryReport = { series: 0, busy: 0, ...noCounts() };
  const faults: unknown[] = [];
  const onFault = host.onFault?.bind(host) ?? ((_series: string, error: unknown): void => void faults.push(error));
  const pass = { ...host, onFault, sameThread: new SameThread() };
  const rest = breaksOf(host.pace);
  for (const series of await findAll(host)) {
    await rest();
    if (host.signal?.aborted) break;
    const left = readDone(host.dir, series);
    if (left && isNothingToDo(left, host)) {
      report.quarantined += left.quarantined;
      report.left += left.payloads;
      report.spansLeft += left.spans;
      continue;
    }
    if (isLive(series, host.dir)) continue;
    const counts = await recoverIfNeeded(series, pass);
    if (counts === 'busy') report.busy++;
    else if (counts === 'faulty') continue;
    else if (counts !== 'nothing') {
      report.series++;
      for (const name of Object.keys(counts) as (keyof RecoveryCounts)[]) report[name] += counts[name];
      onSeries(counts);
    }
  }
  if (faults.length > 0) throw faults[0];
  return report;
}

/** All series; what is left of claims without one is removed. @throws OrangeboxError `OBX_RECOVER_UNREADABLE` */
export async function findAll(host: RecoveryHost): Promise<Series[]> {
  const all = await seriesOf(host);
  await inSlices(sweepClaims(host.dir, new Set(all.map(({ name }) => name))), host.pace);
  return all;
}

/**
 * Recovers a series of a process that has ended. `nothing`: its mark says so; `faulty`: what it holds brought us down.
 * @throws OrangeboxError `OBX_RECOVER_NOT_WRITABLE`
 */
export async function recoverIfNeeded(
  series: Series,
  host: RecoveryHost,
  held?: Claim,
): Promise<RecoveryCounts | 'busy' | 'nothing' | 'faulty'> {
  const left = held ? undefined : readDone(host.dir, series);
  if (left && isNothingToDo(left, host)) return 'nothing';
  try {
    prepareClaims(host.dir);
    const counts = await recoverSeries(series, host, held);
    if (counts) fs.rmSync(programClaimPath(host.dir, series.name), { force: true });
    return counts ?? 'busy';
  } catch (error) {
    // Another recovery took the next number of the series.
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return 'busy';
    if (!host.onFault || !isFaultOfOurs(error)) throw asCodedError(error, host.dir);
    host.onFault(series.name, error);
    return 'faulty';
  }
}

/** What no file system throws. */
function isFaultOfOurs(error: unknown): boolean {
  return error instanceof RangeError || error instanceof TypeError || error instanceof SyntaxError;
}

/** A fault of the file system as an error of ours. */
export function asCodedError(error: unknown, dir: string): OrangeboxError {
  return new OrangeboxError('OBX_RECOVER_NOT_WRITABLE', `nothing can be written to ${dir}: ${messageOf(error)}`, {
    hint: 'recovery adds a file to each series: run as the user who made the recordings, on a volume that is writable',
    cause: error,
  });
}

async function seriesOf(host: RecoveryHost): Promise<Series[]> {
  try {
    return await inSlices(findSeries(host.dir), host.pace);
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new OrangeboxError('OBX_RECOVER_UNREADABLE', `the recordings in ${host.dir} can't be read (${code})`, {
      hint: 'recordings are private to the user who made them: run as that user',
      cause: error,
    });
  }
}

function isNothingToDo(left: NonNullable<ReturnType<typeof readDone>>, host: RecoveryHost): boolean {
  if (host.retryQuarantined && host.payloads && left.quarantined > 0) return false;
  return (left.payloads === 0 || !host.payloads) && (left.spans === 0 || !host.spans);
}

/** Whether the process of a series still runs, or may. */
export function isLive(series: Series, dir: string): boolean {
  const { host, pid, startUnixMs } = series.id;
  if (isNear(host, namespaceOf(series))) return hasWriter(pid, startUnixMs);
  const seen = [
    ...series.files.map(({ modifiedMs }) => modifiedMs),
    readClaim(programClaimPath(dir, series.name))?.modifiedMs ?? 0,
  ];
  return seen.some((modifiedMs) => silentSinceMs(modifiedMs) < SILENT_MS);
}

/** The namespace that the newest file names, or the first where that one is torn. */
function namespaceOf({ files }: Series): string | undefined {
  for (const file of [files.at(-1), files[0]]) {
    const found = file && firstNamespace(file);
    if (found !== undefined) return found;
  }
  return undefined;
}

function firstNamespace({ path, sizeBytes }: Series['files'][number]): string | undefined {
  let found: string | undefined;
  try {
    // The first records alone.
    const steps = scanFrames(path, 0, Math.min(sizeBytes, 64 * 1024), ({ record }) => {
      if (record.type === 'segmentStart') found ??= record.pidNamespace;
    });
    while (found === undefined && steps.next().done !== true);
    steps.return({} as never);
  } catch {
    // No segment: nothing is known of it.
  }
  return found;
}
