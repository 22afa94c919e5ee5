/** Takes the calls that go out of the files of one series, the last file first, so that no call is ever seen halved. */
import * as fs from 'node:fs/promises';
import { isRunRecord } from '@orangebox/schema';
import { type Claim, type Cursor, takeClaim } from '../recovery/claims.ts';
import { messageOf } from '../report.ts';
import type { WalkedFrame } from './frame-walk.ts';
import { addLoss, type SweepLosses } from './losses.ts';
import { type MovedRange, noteMoved, noteRemoved } from './moved-records.ts';
import { each } from './oldest-first.ts';
import type { Pace } from './pace.ts';
import type { WholeFiles } from './plan.ts';
import { endFacts, exchangeIdOf, forgottenIdsOf, keySpanOf, sentSpansOf } from './record-facts.ts';
import { type FrameVerdict, type RewriteFs, type Rewritten, rewriteFile } from './rewrite.ts';
import type { DirectoryKnowledge, ScannedFile, SeriesScan } from './series-scan.ts';
import type { SweepResult } from './sweep-scope.ts';

/** One series and what is known around it. */
export interface SeriesJob {
  scan: SeriesScan;
  /** Its files that can't be rewritten. */
  wholeFiles: WholeFiles | undefined;
  claimPath: string;
  /** This thread writes it, and holds places in it. */
  isOwn: boolean;
  knowledge: DirectoryKnowledge;
  /** Everything in the directory was read. */
  isWhole: boolean;
  mayChange(): boolean;
  roomBytes(): number;
  /** The directory's files have so many bytes more, or fewer. */
  grew(bytes: number): void;
  result: SweepResult;
  losses: SweepLosses;
  pace: Pace;
  through: RewriteFs;
}

/** Files without a call are looked at again only when they are this small. */
const EMPTY_MAX_BYTES = 64 * 1024;

/** Does what was decided for one series. Never rejects: a file that can't be rewritten stays as it is. */
export async function sweepSeries(job: SeriesJob): Promise<void> {
  const touched = await touchedFiles(job);
  if (!touched.some((kind) => kind !== undefined)) return;
  let claim: Claim | undefined;
  try {
    // Whoever ships it meanwhile was seen before, and its files are left alone.
    claim = job.scan.isClaimed ? undefined : takeClaim(job.claimPath, 'sweep');
    if (!claim && !job.scan.isClaimed) return;
    await new SeriesSweep(job, claim).run(touched);
  } catch (error) {
    failed(job.result, error);
  } finally {
    if (claim?.cursor) claim.keep();
    else claim?.release();
  }
}

/** Removes what a sweep that was killed left behind; gives its bytes. */
export async function removeLeftover(path: string, pace: Pace): Promise<number> {
  try {
    const { size } = await pace.io(fs.lstat(path));
    await pace.io(fs.unlink(path));
    return size;
  } catch {
    return 0;
  }
}

/** What is to be done with each file of the series. */
type FileTask = 'rewrite' | 'remove' | undefined;

async function touchedFiles({ scan, wholeFiles, isWhole, pace }: SeriesJob): Promise<FileTask[]> {
  const tasks: FileTask[] = scan.files.map(() => undefined);
  const hasCalls = scan.files.map(() => false);
  await each(scan.calls(), pace, ({ first, last, goes }) => {
    for (let i = first; i <= last; i++) {
      hasCalls[i] = true;
      if (goes) tasks[i] = 'rewrite';
    }
  });
  for (const [i, file] of scan.files.entries()) {
    if (!file.isClosed || file.state === undefined || file.state === 'gone') tasks[i] = undefined;
    else if (file.state !== 'whole') tasks[i] = wholeFiles?.unit.goes ? 'remove' : undefined;
    else if (!hasCalls[i] && isWhole && file.sizeBytes <= EMPTY_MAX_BYTES) tasks[i] = 'rewrite';
  }
  return tasks;
}

class SeriesSweep {
  readonly #job: SeriesJob;
  readonly #claim: Claim | undefined;
  /** Exchanges of calls that go, by the last file of their call, where the call begins in an earlier one. */
  readonly #forget: Map<number, number[]> = new Map();

  constructor(job: SeriesJob, claim: Claim | undefined) {
    this.#job = job;
    this.#claim = claim;
  }

  async run(tasks: readonly FileTask[]): Promise<void> {
    const { scan, pace, result, losses, wholeFiles } = this.#job;
    await each(scan.exchanges.entries(), pace, ([id, { goes, first, last }]) => {
      if (goes && first < last) this.#forget.set(last, [...(this.#forget.get(last) ?? []), id]);
    });
    const spare: { file: ScannedFile; rewritten: Rewritten }[] = [];
    let isEachDone = true;
    for (let i = tasks.length - 1; i >= 0; i--) {
      const file = scan.files[i];
      const task = tasks[i];
      if (!file || !task) continue;
      const done = task === 'remove' ? await this.#remove(file) : await this.#rewrite(file, i);
      if (done && done.outcome !== 'left') {
        result.freedBytes += done.freedBytes;
        if (done.outcome === 'rewritten' && done.isSpare) spare.push({ file, rewritten: done });
      } else {
        isEachDone = false;
        await this.#keepCallsOf(i);
      }
    }
    // What they say of exchanges is needed as long as those are there.
    if (isEachDone) for (const { file, rewritten } of spare) await this.#removeSpare(file, rewritten);
    await each(scan.calls(), pace, (call) => addLoss(losses, call));
    if (wholeFiles?.unit.goes && wholeFiles.calls.length === 0) addLoss(losses, wholeFiles.unit);
  }

  async #rewrite(file: ScannedFile, index: number): Promise<Rewritten | undefined> {
    const { roomBytes, grew, mayChange, pace, through, result, isOwn } = this.#job;
    try {
      const done = await rewriteFile(
        {
          file,
          verdict: (frame) => this.#verdict(frame, index),
          forget: this.#forget.get(index) ?? [],
          roomBytes: roomBytes(),
          grew,
          mayChange,
          onReplaced: (moved) => this.#replaced(file, moved),
        },
        pace,
        through,
      );
      if (done.outcome === 'removed' && isOwn) noteRemoved(file.path);
      return done;
    } catch (error) {
      failed(result, error);
      return undefined;
    }
  }

  async #remove(file: ScannedFile): Promise<Rewritten | undefined> {
    const { grew, mayChange, pace, result, isOwn } = this.#job;
    if (!mayChange()) return undefined;
    try {
      await pace.io(fs.unlink(file.path));
      if (isOwn) noteRemoved(file.path);
      grew(-file.sizeBytes);
      return { outcome: 'removed', freedBytes: file.sizeBytes, sizeBytes: 0, isSpare: false };
    } catch (error) {
      failed(result, error);
      return undefined;
    }
  }

  async #removeSpare(file: ScannedFile, { sizeBytes }: Rewritten): Promise<void> {
    const gone = await this.#remove({ ...file, sizeBytes });
    if (gone) this.#job.result.freedBytes += gone.freedBytes;
  }

  /** A file that could not be changed keeps its calls, those excepted of which a later file says that they are gone. */
  async #keepCallsOf(index: number): Promise<void> {
    const { scan, pace, wholeFiles } = this.#job;
    await each(scan.calls(), pace, (call) => {
      if (call.first <= index && call.last === index) call.goes = undefined;
    });
    if (wholeFiles?.files.some((file) => file === scan.files[index])) wholeFiles.unit.goes = undefined;
  }

  #replaced(file: ScannedFile, moved: readonly MovedRange[]): void {
    if (this.#job.isOwn) noteMoved(file.path, moved);
    const cursor = this.#claim?.cursor;
    if (!this.#claim || cursor?.n !== file.n) return;
    this.#claim.save(movedCursor(cursor, moved));
  }

  #verdict(frame: WalkedFrame, index: number): FrameVerdict {
    const { scan, knowledge } = this.#job;
    if (isRunRecord(frame)) return 'plain';
    switch (frame.type) {
      case undefined:
      case 'segmentStart':
      case 'segmentEnd':
      case 'dropped':
        return 'plain';
      case 'shipped':
      case 'quarantined': {
        const spanId = keySpanOf(frame);
        return spanId === undefined ? 'goes' : this.#ofSpans([spanId], index);
      }
      case 'spansSent':
        return this.#ofSpans(sentSpansOf(frame), index);
      case 'forgotten': {
        const isNeeded = forgottenIdsOf(frame).some((id) => {
          const call = scan.exchanges.get(id);
          return call ? call.goes === undefined : !scan.isScannedWhole;
        });
        return isNeeded ? 'stays' : 'goes';
      }
      case 'tool':
      case 'callEnd': {
        const facts = endFacts(frame);
        if (!facts) return 'plain';
        const [id] = facts.exchangeIds;
        const call = id === undefined ? knowledge.bySpan.get(facts.spanId) : scan.exchanges.get(id);
        return call?.goes ? 'goes' : 'stays';
      }
      default: {
        const id = exchangeIdOf(frame);
        return id !== undefined && scan.exchanges.get(id)?.goes ? 'goes' : 'stays';
      }
    }
  }

  /** What is said of calls stays as long as one of them does. */
  #ofSpans(spanIds: readonly string[], index: number): FrameVerdict {
    const { scan, knowledge, isWhole } = this.#job;
    // What is said of a call stands behind it: nobody who was not looked at is meant.
    const isEachKnown = isWhole || scan.files.slice(0, index + 1).every(({ state }) => state !== undefined);
    const isNeeded = spanIds.some((spanId) => {
      const call = knowledge.bySpan.get(spanId);
      return call ? call.goes === undefined : !isEachKnown;
    });
    return isNeeded ? 'stays' : 'goes';
  }
}

function failed(result: SweepResult, error: unknown): void {
  result.failures.count++;
  result.failures.message ||= messageOf(error);
}

/** Where the records behind a cursor begin in the file that replaced its own. */
function movedCursor(cursor: Cursor, moved: readonly MovedRange[]): Cursor {
  const next = moved.find(({ to }) => to > cursor.offset);
  const last = moved.at(-1);
  const end = last ? last.newFrom + (last.to - last.from) : 0;
  const offset = next ? next.newFrom + Math.max(0, cursor.offset - next.from) : end;
  return { ...cursor, offset };
}
