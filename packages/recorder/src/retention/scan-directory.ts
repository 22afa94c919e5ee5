/** Which series a sweep looks at, and how far it has to look. */
import { claimPath, isStale, readClaim } from '../recovery/claims.ts';
import { isNear } from '../recovery/liveness.ts';
import type { CallClass, KnownCall } from './calls.ts';
import { closedBelowN, type Listing } from './directory-files.ts';
import type { Pace } from './pace.ts';
import { type DirectoryKnowledge, SeriesScan } from './series-scan.ts';
import type { SweepScope } from './sweep-scope.ts';
import { each } from './oldest-first.ts';

/** How much a scan has to find. */
export interface ScanDemand {
  neededBytes: number;
  isAnyShipped: boolean;
  olderThanMs: number | undefined;
  nowMs: number;
  pace: Pace;
}

/** Calls that are looked at in one sweep at most; newer files wait for the next one. */
const MAX_CALLS = 500_000;
/** Calls between two looks at the clock. */
const CALLS_PER_LOOK = 256;

/** Series with closed files; those that a recovery works on are left to it. */
export async function seriesToScan(
  listing: Listing,
  scope: SweepScope,
  nowMs: number,
  knowledge: DirectoryKnowledge,
  pace: Pace,
): Promise<SeriesScan[]> {
  const scans: SeriesScan[] = [];
  for (const series of listing.series) {
    await pace.restIfOver();
    let belowN = closedBelowN(series, scope, nowMs);
    const claim = readClaim(claimPath(scope.dir, series.name));
    const cursor = claim?.content?.cursor;
    const isClaimed = claim !== undefined && !isStale(claim);
    if (isClaimed) belowN = Math.min(belowN, cursor?.n ?? 0);
    if (!series.files.some(({ n }) => n < belowN)) continue;
    const scan = new SeriesScan(series, belowN, knowledge);
    scan.isClaimed = isClaimed;
    scan.shipped = cursor;
    scan.closeAsForeign = () => closedBelowN(series, scope, nowMs, false);
    scans.push(scan);
  }
  return scans;
}

/** How far a scan got. */
export interface ScanExtent {
  /** Everything was read. */
  isWhole: boolean;
  /** Calls of later classes stay: there may be others of this one in files that were not read. */
  lastClass: CallClass;
}

/** Reads files, oldest first, until enough is known. */
export async function scanOldestFirst(
  scans: readonly SeriesScan[],
  knowledge: DirectoryKnowledge,
  demand: ScanDemand,
): Promise<ScanExtent> {
  const { neededBytes, isAnyShipped, olderThanMs, pace } = demand;
  const order = scans.flatMap((scan) => scan.files.map((file, index) => ({ scan, file, index })));
  order.sort((a, b) => a.file.modifiedMs - b.file.modifiedMs || a.file.n - b.file.n);
  let freeableBytes = 0;
  const counted = new Map<SeriesScan, number>();
  let scanned = 0;
  for (const { scan, file, index } of order) {
    const isOld = olderThanMs !== undefined && file.modifiedMs < olderThanMs;
    if (!isOld && freeableBytes >= neededBytes) break;
    if (knowledge.calls >= MAX_CALLS) break;
    await scan.scan(index, pace);
    scanned++;
    if (!isNear(scan.listed.id.host, scan.pidNamespace)) closeAsForeign(scan);
    // Of what has ended so far; a call's shipping may stand in this file, the call in one before.
    let from = counted.get(scan) ?? 0;
    for (; from < scan.ended.length; from++) {
      if (from % CALLS_PER_LOOK === 0) await pace.restIfOver();
      const call = scan.ended[from];
      if (!call || call.isFailed || !mayBeRewritten(scan, call)) continue;
      if (!isAnyShipped || knowledge.shipped.get(call.spanId)) freeableBytes += call.sizeBytes;
      else if (index === call.last) break;
    }
    counted.set(scan, from);
    await pace.restIfOver();
  }
  for (const scan of scans) {
    await each(scan.ended, pace, (call) => {
      call.isShipped = knowledge.shipped.get(call.spanId) === true || isBehindCursor(scan, call.last);
    });
  }
  const isWhole = scanned === order.length;
  const isCut = !isWhole && knowledge.calls >= MAX_CALLS;
  return { isWhole, lastClass: isWhole || isCut ? 4 : isAnyShipped ? 1 : 2 };
}

function mayBeRewritten({ files }: SeriesScan, { first, last, lacksStart }: KnownCall): boolean {
  if (lacksStart) return false;
  for (let i = first; i <= last; i++) if (!files[i]?.isClosed || files[i]?.state !== 'whole') return false;
  return true;
}

/** Who ships a live series holds places in its files: those of calls that go on where it works are left alone too. */
export async function pinClaimed(scans: readonly SeriesScan[], pace: Pace): Promise<void> {
  for (const scan of scans) {
    if (!scan.isClaimed) continue;
    let from = scan.files.findIndex(({ isClosed }) => !isClosed);
    if (from < 0) continue;
    for (let before = -1; before !== from; ) {
      before = from;
      await each(scan.calls(), pace, ({ first, last, isEnded }) => {
        const mayGoOn = !isEnded && !scan.isScannedWhole;
        if (last >= before || mayGoOn) from = Math.min(from, first);
      });
    }
    for (const file of scan.files.slice(from)) file.isClosed = false;
  }
}

function isBehindCursor({ shipped, files }: SeriesScan, last: number): boolean {
  const n = files[last]?.n;
  return shipped !== undefined && n !== undefined && n < shipped.n;
}

function closeAsForeign(scan: SeriesScan): void {
  const belowN = scan.closeAsForeign?.() ?? Number.POSITIVE_INFINITY;
  for (const file of scan.files) file.isClosed &&= file.n < belowN;
}
