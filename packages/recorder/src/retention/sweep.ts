/**
 * Keeps a directory of segments within its bounds by bytes and age, in whole calls. Loaded by the first file that is opened;
 * the reasons for its rules are in `docs/retention.md`.
 */
import { join } from 'node:path';
import { type Claim, CLAIMS_DIRECTORY, claimPath, prepareClaims, takeClaim } from '../recovery/claims.ts';
import { type KnownCall, PartedMap } from './calls.ts';
import { closedBelowN, isOwnSeries, listDirectory, removeEmptyDates } from './directory-files.ts';
import { ShippingKnowledge } from './known-shipping.ts';
import { addLosses, noLosses } from './losses.ts';
import { Pace } from './pace.ts';
import { decide } from './plan.ts';
import { type RewriteFs, rewriteFs } from './rewrite.ts';
import { pinClaimed, scanOldestFirst, seriesToScan } from './scan-directory.ts';
import type { DirectoryKnowledge } from './series-scan.ts';
import { removeLeftover, sweepSeries } from './sweep-series.ts';
import type { SweepResult, SweepScope } from './sweep-scope.ts';

/** Beside the claims of series, whose names never begin so. */
const SWEEP_CLAIM = '.sweep.json';

/** Of a full directory so much goes from its oldest files before anything else is read. */
const FIRST_STEP_BYTES = 4 * 1024 * 1024;

interface Round {
  olderThanMs: number | undefined;
  nowMs: number;
  result: SweepResult;
  pace: Pace;
  isFirstStep: boolean;
}

/** Sweeps a directory, as often as it is asked. */
export class Sweeper {
  readonly #fs: RewriteFs;
  readonly #pace: () => Pace;
  readonly #shipping: ShippingKnowledge = new ShippingKnowledge();

  constructor(through: RewriteFs = rewriteFs, pace: () => Pace = () => new Pace()) {
    this.#fs = through;
    this.#pace = pace;
  }

  /** Looks at the directory, and makes room where a bound is passed. Rejects only where claims can't be written. */
  async sweep(scope: SweepScope, nowMs: number): Promise<SweepResult> {
    const pace = this.#pace();
    pace.isUrgent = () => scope.isUrgent?.() === true;
    const writtenBefore = scope.writtenBytes();
    const listing = await listDirectory(scope.dir, pace);
    const result: SweepResult = {
      totalBytes: listing.totalBytes,
      freedBytes: 0,
      losses: noLosses(),
      isBusy: false,
      failures: { count: 0, message: '' },
      longestSliceMs: 0,
      usedMs: 0,
    };
    scope.onSize(listing.totalBytes, writtenBefore);
    const olderThanMs = scope.maxAgeMs === undefined ? undefined : nowMs - scope.maxAgeMs;
    const isAged =
      olderThanMs !== undefined &&
      listing.series.some((series) => {
        const old = series.files.filter(({ modifiedMs }) => modifiedMs < olderThanMs);
        return old.some(({ n }) => n < closedBelowN(series, scope, nowMs));
      });
    if (listing.totalBytes > scope.triggerBytes || isAged || listing.leftovers.length > 0) {
      prepareClaims(scope.dir);
      const claim = takeClaim(join(scope.dir, CLAIMS_DIRECTORY, SWEEP_CLAIM), 'sweep');
      if (!claim) result.isBusy = true;
      else {
        try {
          const round = { olderThanMs, nowMs, result, pace };
          // A process that ends soon shall have freed something.
          if (listing.totalBytes > (scope.bodyBytes ?? Number.POSITIVE_INFINITY))
            await this.#makeRoom(scope, claim, { ...round, olderThanMs: undefined, isFirstStep: true });
          await this.#makeRoom(scope, claim, { ...round, isFirstStep: false });
        } finally {
          claim.release();
        }
      }
    }
    result.longestSliceMs = pace.longestMs;
    result.usedMs = pace.usedMs;
    return result;
  }

  async #makeRoom(
    scope: SweepScope,
    claim: Claim,
    { olderThanMs, nowMs, result, pace, isFirstStep }: Round,
  ): Promise<void> {
    const writtenBefore = scope.writtenBytes();
    // What another sweep did before this one had the claim counts.
    const listing = await listDirectory(scope.dir, pace);
    result.totalBytes = listing.totalBytes;
    for (const path of listing.leftovers) result.totalBytes -= await removeLeftover(path, pace);
    const grew = (bytes: number): void => {
      result.totalBytes += bytes;
      scope.onSize(result.totalBytes, writtenBefore);
    };
    grew(0);
    const wantedBytes = result.totalBytes > scope.triggerBytes ? result.totalBytes - scope.targetBytes : 0;
    const neededBytes = isFirstStep ? Math.min(wantedBytes, FIRST_STEP_BYTES) : wantedBytes;
    const knowledge: DirectoryKnowledge = {
      bySpan: new PartedMap<string, KnownCall>(),
      shipped: new PartedMap<string, true>(),
      calls: 0,
    };
    const scans = await seriesToScan(listing, scope, nowMs, knowledge, pace);
    const files = listing.series.flatMap((series) => series.files);
    const isAnyShipped = neededBytes > 0 && !isFirstStep && (await this.#shipping.isAnyShipped(files, pace));
    const { isWhole, lastClass } = await scanOldestFirst(scans, knowledge, {
      neededBytes,
      isAnyShipped,
      olderThanMs,
      nowMs,
      pace,
    });
    await pinClaimed(scans, pace);
    const wholeFiles = await decide(scans, { neededBytes, lastClass, olderThanMs }, pace);
    for (const scan of scans) {
      if (!claim.touch()) return;
      const losses = noLosses();
      await sweepSeries({
        scan,
        wholeFiles: wholeFiles.find(({ series }) => series === scan),
        claimPath: claimPath(scope.dir, scan.name),
        isOwn: isOwnSeries(scan.listed.id, scope.own),
        knowledge,
        isWhole,
        mayChange: () => claim.isHeld(),
        roomBytes: () => scope.maxBytes - result.totalBytes - (scope.writtenBytes() - writtenBefore),
        grew,
        result,
        losses,
        pace,
        through: this.#fs,
      });
      addLosses(result.losses, losses);
      scope.onLosses(losses);
    }
    await removeEmptyDates(scope.dir, nowMs, pace);
  }
}
