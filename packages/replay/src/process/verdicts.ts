/** What is said of a replay when it stops: the first divergence, what kept it from going on, or that it came to its end. */
import type { ComparedValue, DivergenceContext, Draw } from '../divergence/types.ts';
import { compared, compareEnvironment } from './compared-facts.ts';
import type { Course } from './course.ts';
import { KEPT_DRAWS, textOf } from './draw-replay.ts';
import { NO_REPORT, type ProcessReport } from './process-report.ts';
import type { RecordedRun } from './recorded-run.ts';

/** Recorded draws that are looked through for an explanation. */
const EXPLAINED_DRAWS = 20_000;
/** Different attempts that are counted each by itself. */
const REFUSED_MAX = 1000;

/** How a replay ends. */
export interface VerdictOptions {
  run: RecordedRun;
  /** Facts of this process. */
  live: NonNullable<ProcessReport['live']>;
  /** Files that were others when the run was recorded. */
  changedFiles?: readonly ComparedValue[];
  /** Ends the process with this report; called once. `isEnding`: it ends by itself, and has its own last words. */
  stop: (report: ProcessReport, isEnding: boolean) => void;
  /** Makes the explanation of a divergence. */
  explain: (context: DivergenceContext) => NonNullable<ProcessReport['divergence']>;
}

/** What the parts of the replay know. */
export interface VerdictSources {
  /** What explains a divergence. */
  evidence(): Pick<DivergenceContext, 'recorded' | 'answers' | 'liveDraws' | 'changedTools'>;
  /** What was counted. */
  counts(): Omit<ProcessReport, 'threadId' | 'live' | 'refused' | 'liveConnections' | 'liveProcesses'>;
}

/** The verdict on a thread; the first one holds. */
export class Verdicts {
  readonly #options: VerdictOptions;
  readonly #course: Course;
  readonly #refused: Map<string, number> = new Map();
  #sources: VerdictSources | undefined;

  constructor(options: VerdictOptions, course: Course) {
    this.#options = options;
    this.#course = course;
  }

  /** Told once, when the parts are there. */
  from(sources: VerdictSources): void {
    this.#sources = sources;
  }

  /** Something would have left the process. */
  refused(what: string): void {
    this.#course.moved();
    const name = this.#refused.has(what) || this.#refused.size < REFUSED_MAX ? what : 'others';
    this.#refused.set(name, (this.#refused.get(name) ?? 0) + 1);
  }

  /** The program went another way; `isEnding`: by coming to its end. */
  diverge(context: Omit<DivergenceContext, 'step'>, isEnding = false): void {
    if (this.#course.isOver) return;
    const divergence = this.attempt(() =>
      this.#options.explain({
        step: this.#course.steps + 1,
        matched: this.#course.matched,
        recordedDraws: this.#recordedDraws(context.event),
        ...this.#facts(),
        ...this.#sources?.evidence(),
        ...context,
      }),
    );
    if (divergence === undefined) return;
    this.#course.end();
    this.#options.stop({ ...this.#report(), divergence }, isEnding);
  }

  /** The process ends by itself, as it did when it was recorded; or is to end where a signal had ended it. */
  ended(end: NonNullable<ProcessReport['end']>, isEnding = true): void {
    this.#course.end();
    this.#options.stop({ ...this.#report(), end }, isEnding);
  }

  /**
   * Work on recorded data. What is on record may be made to break it: that ends the replay, and is no exception of the
   * program.
   */
  attempt<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      if (this.#course.isOver) return undefined;
      this.#course.end();
      const message = `the replay could not go on: ${error instanceof Error ? error.message : String(error)}`;
      const { threadId } = this.#options.live;
      this.#options.stop({ ...NO_REPORT, threadId, failure: { code: 'OBX_RUN_UNREADABLE', message } }, false);
      return undefined;
    }
  }

  #recordedDraws(before: number): Draw[] {
    const live = this.#sources?.evidence().liveDraws ?? [];
    // Those of the program are kept up to a number: more of one side than of the other would say that draws are missing.
    const most = live.length < KEPT_DRAWS ? EXPLAINED_DRAWS : KEPT_DRAWS;
    const draws: Draw[] = [];
    for (const { seq, source, value, at } of this.#options.run.draws) {
      if (seq > before || draws.length >= most) break;
      draws.push({ seq, source, value: textOf(value), ...(at === undefined ? {} : { at }) });
    }
    return draws;
  }

  #facts(): Pick<DivergenceContext, 'environment' | 'files' | 'areAllFilesKnown' | 'versions' | 'run'> {
    const { run, live, changedFiles } = this.#options;
    const { start } = run;
    return {
      environment: compareEnvironment(start.environment, live.environment),
      files: [...compared(live.argv[0] ?? 'entry', start.entryDigest, live.entryDigest), ...(changedFiles ?? [])],
      ...(changedFiles === undefined ? {} : { areAllFilesKnown: true as const }),
      versions: compared('node', start.node, live.node),
      run: start.runId,
    };
  }

  #report(): ProcessReport {
    const { live } = this.#options;
    // A datagram socket is there as soon as it is made, and nothing can go out by one.
    const active = process.getActiveResourcesInfo();
    const connections = active.filter((name) => /^TCP(?:Socket|Connect)/.test(name));
    return {
      ...NO_REPORT,
      ...this.#sources?.counts(),
      threadId: live.threadId,
      live,
      refused: [...this.#refused].map(([what, count]) => ({ what, count })),
      liveConnections: connections.length,
      liveProcesses: active.filter((name) => name === 'ProcessWrap').length,
    };
  }
}
