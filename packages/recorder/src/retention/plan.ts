/** Decides which calls go: first by age, then by class and age until enough room is made. */
import { CALL_CLASSES, type CallClass, classOf, type KnownCall } from './calls.ts';
import { each, oldestThresholdMs } from './oldest-first.ts';
import type { Pace } from './pace.ts';
import type { ScannedFile, SeriesScan } from './series-scan.ts';

/** What is wanted. */
export interface Demand {
  neededBytes: number;
  /** Calls of later classes do not go for room. */
  lastClass: CallClass;
  /** Calls whose last record is older than this go. */
  olderThanMs: number | undefined;
}

/** Files of a series that are damaged, torn or of a newer release: they can only go as they are, with all calls in them. */
export interface WholeFiles {
  series: SeriesScan;
  files: ScannedFile[];
  /** Those whose records may stand in them. */
  calls: KnownCall[];
  /** Stands for what can't be read in them: as the other calls of the class, it goes when its time has come. */
  unit: KnownCall;
}

/** Calls that stand wholly in closed files that were looked at. */
export async function candidates(scans: readonly SeriesScan[], pace: Pace): Promise<Map<CallClass, KnownCall[]>> {
  const byClass = new Map<CallClass, KnownCall[]>(CALL_CLASSES.map((name) => [name, []]));
  for (const scan of scans) {
    const usable = scan.files.map(({ state, isClosed }) => isClosed && state !== undefined);
    const isWhole = scan.isScannedWhole;
    await each(scan.calls(), pace, (call) => {
      // What has no end may go on in a file that was not looked at.
      if (!call.isEnded && !isWhole) return;
      for (let i = call.first; i <= call.last; i++) if (!usable[i]) return;
      byClass.get(classOf(call))?.push(call);
    });
  }
  return byClass;
}

/** Marks the calls that go; gives the files that can't be rewritten, whose unit says whether they go. */
export async function decide(scans: readonly SeriesScan[], demand: Demand, pace: Pace): Promise<WholeFiles[]> {
  const byClass = await candidates(scans, pace);
  const wholeFiles = await findWholeFiles(scans, byClass, pace);
  let needed = demand.neededBytes;
  if (demand.olderThanMs !== undefined) needed -= await markOld(scans, byClass, wholeFiles, demand.olderThanMs, pace);
  for (const name of CALL_CLASSES) {
    if (name !== 0 && (needed <= 0 || name > demand.lastClass)) break;
    const calls: KnownCall[] = [];
    await each(byClass.get(name) ?? [], pace, (call) => {
      if (call.goes === undefined) calls.push(call);
    });
    const upToMs = name === 0 ? Number.POSITIVE_INFINITY : await oldestThresholdMs(calls, needed, pace);
    await each(calls, pace, (call) => {
      if (call.startMs > upToMs) return;
      call.goes = name === 0 ? 'passed_over' : 'dir_bytes';
      needed -= call.sizeBytes;
    });
  }
  return wholeFiles;
}

/** Moves the calls that are bound to such files to the last class, under one time; those that can't go are taken out. */
async function findWholeFiles(
  scans: readonly SeriesScan[],
  byClass: Map<CallClass, KnownCall[]>,
  pace: Pace,
): Promise<WholeFiles[]> {
  const found: WholeFiles[] = [];
  const bound = new Set<KnownCall>();
  for (const series of scans) {
    const at = series.files.flatMap(({ state }, i) => (state === 'unclean' || state === 'unknown' ? [i] : []));
    const [firstAt] = at;
    if (firstAt === undefined) continue;
    const calls: KnownCall[] = [];
    await each(series.calls(), pace, (call) => {
      const touches = at.some((i) => call.first <= i && i <= call.last);
      // Its start may stand behind the damage, where nobody looked.
      if (!touches && !(call.lacksStart && call.last > firstAt)) return;
      calls.push(call);
      bound.add(call);
    });
    const files = at.flatMap((i) => series.files[i] ?? []);
    found.push({ series, files, calls, unit: unitOf(files, calls) });
  }
  if (found.length === 0) return found;
  const mayGo = new Set<KnownCall>();
  for (const [name, calls] of byClass) {
    byClass.set(
      name,
      calls.filter((call) => !bound.has(call)),
    );
    for (const call of calls) if (bound.has(call)) mayGo.add(call);
  }
  const last = byClass.get(4) ?? [];
  for (const { files, calls, unit } of found) {
    if (!files.every(({ isClosed }) => isClosed) || !calls.every((call) => mayGo.has(call))) continue;
    for (const call of calls) call.startMs = unit.startMs;
    last.push(unit, ...calls);
  }
  return found;
}

/** Gives the bytes of what goes by its age. */
async function markOld(
  scans: readonly SeriesScan[],
  byClass: ReadonlyMap<CallClass, KnownCall[]>,
  wholeFiles: readonly WholeFiles[],
  olderThanMs: number,
  pace: Pace,
): Promise<number> {
  // What is bound to a whole file goes with the newest of its neighbours, so that none is halved.
  const lastMs = new Map<KnownCall, number>();
  for (const whole of wholeFiles) {
    const newest = newestOf(whole);
    for (const call of [whole.unit, ...whole.calls]) lastMs.set(call, newest);
  }
  const filesOf = new Map<KnownCall, SeriesScan>();
  let freed = 0;
  for (const scan of scans) await each(scan.calls(), pace, (call) => void filesOf.set(call, scan));
  for (const [name, calls] of byClass) {
    await each(calls, pace, (call) => {
      const modifiedMs = lastMs.get(call) ?? filesOf.get(call)?.files[call.last]?.modifiedMs;
      if (modifiedMs === undefined || modifiedMs >= olderThanMs) return;
      call.goes = name === 0 ? 'passed_over' : 'dir_age';
      freed += call.sizeBytes;
    });
  }
  return freed;
}

function newestOf({ series, files, calls }: WholeFiles): number {
  let newest = lastModifiedMs(files);
  for (const { last } of calls) newest = Math.max(newest, series.files[last]?.modifiedMs ?? newest);
  return newest;
}

function unitOf(files: readonly ScannedFile[], calls: readonly KnownCall[]): KnownCall {
  const readBytes = calls.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const fileBytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  return {
    spanId: '',
    startMs: lastModifiedMs(files),
    sizeBytes: Math.max(0, fileBytes - readBytes),
    first: 0,
    last: 0,
    isKnown: true,
    lacksStart: false,
    isEnded: false,
    isFailed: true,
    isShipped: false,
    isForgotten: false,
    goes: undefined,
  };
}

function lastModifiedMs(files: readonly { modifiedMs: number }[]): number {
  return files.reduce((newest, { modifiedMs }) => Math.max(newest, modifiedMs), Number.NEGATIVE_INFINITY);
}
