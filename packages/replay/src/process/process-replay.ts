/** Replays one thread of a run within the program itself. */
import type { RunEndRecord } from '@orangebox/schema';
import type { MatchRule } from '../matching/types.ts';
import type { AskedExchange, AskedStart } from './asked-exchange.ts';
import { AskedRequests } from './asked-requests.ts';
import { Course } from './course.ts';
import { DeliveryQueue, type QueueHost } from './delivery-queue.ts';
import { DrawReplay } from './draw-replay.ts';
import type { AppliedFiles } from './files/applied-files.ts';
import type { PathPair } from './files/path-pair.ts';
import { GivenAnswers } from './given-answers.ts';
import { HeldThreads } from './held-threads.ts';
import { missingAct, missingEvent, scopeOfAct } from './missing-event.ts';
import { OrderedWork } from './ordered-work.ts';
import { PlayedConnections } from './played-connections.ts';
import type { ProcessReport } from './process-report.ts';
import { RecordedPace } from './pace.ts';
import { type AnswerEvent, orderOf, type RunAct, type RunEvent, wordsOf } from './run-events.ts';
import type { ProcessNumber } from './sealed/refused-signals.ts';
import { sealProcess } from './sealed/seal.ts';
import { ServedChildren } from './served-children.ts';
import { ServedTools, withoutServedTools } from './served-tools.ts';
import { ServedInput } from './served-input.ts';
import { UnpinnedDraws, type UnpinnedPlan } from './unpinned-draws.ts';
import { type VerdictOptions, Verdicts } from './verdicts.ts';
import { VirtualTimers } from './virtual-timers.ts';

/** What a replay is told. */
export interface ProcessReplayOptions extends VerdictOptions {
  rules: readonly MatchRule[];
  /** How many times faster than recorded answers come; without it they come at once. */
  speed?: number;
  /** Outside values that are not to be those on record; without it all are. */
  unpinned?: UnpinnedPlan;
  /** What child processes changed is changed again; without it nothing is. */
  files?: AppliedFiles;
  /** Where the working directory is another one. */
  paths?: PathPair;
}

/** The replay of a thread: what stands behind the taps and hooks. */
export class ProcessReplay implements QueueHost {
  readonly draws: DrawReplay;
  readonly timers: VirtualTimers;
  readonly tools: ServedTools;
  readonly work: OrderedWork;
  readonly children: ServedChildren;
  readonly threads: HeldThreads;
  /** Undefined where nothing is on record of standard input. */
  readonly input: ServedInput | undefined;
  readonly #options: ProcessReplayOptions;
  readonly #course: Course;
  readonly #verdicts: Verdicts;
  readonly #requests: AskedRequests;
  readonly #connections: PlayedConnections;
  readonly #answers: GivenAnswers;
  readonly #pace: RecordedPace | undefined;
  /** What the program has written so far. */
  outputs: (() => Pick<NonNullable<ProcessReport['end']>, 'stdout' | 'stderr'>) | undefined;
  #fewerDrawsBefore: number | undefined;
  #lacksModule = false;

  constructor(options: ProcessReplayOptions) {
    const { rules, speed, files, paths } = options;
    const run = withoutServedTools(options.run);
    this.#options = { ...options, run };
    this.timers = new VirtualTimers(run.timersWithinTools);
    this.work = new OrderedWork(run.work);
    this.#pace = speed === undefined ? undefined : new RecordedPace(run.start.startUnixNano, speed);
    const order = orderOf(run);
    const course = new Course(new DeliveryQueue(order, this));
    const verdicts = new Verdicts(this.#options, course);
    this.#course = course;
    this.threads = new HeldThreads(run.threadEvents);
    this.#verdicts = verdicts;
    const { stdin } = run.start;
    this.input =
      stdin &&
      new ServedInput(stdin, run.input, (detail) =>
        verdicts.diverge({ kind: 'extra', event: course.queue.position, scope: [], detail }),
      );
    this.#requests = new AskedRequests(run, order, { rules, course, verdicts, paths });
    this.#connections = new PlayedConnections(this.#requests, course);
    this.#answers = new GivenAnswers(this.#requests);
    const { matcher } = this.#requests;
    this.draws = new DrawReplay(
      run.draws,
      (recorded, live, from) => matcher.learn(recorded, live, from),
      options.unpinned && new UnpinnedDraws(options.unpinned),
    );
    this.children = new ServedChildren(
      run.children,
      {
        served: (record) => {
          const what = `child process ${[record.file, ...record.argv].join(' ')}`;
          course.did({ event: record.seq, scope: [], what }, (act) => act.kind === 'spawn' && act.child === record);
          if (record.sync) files?.childEnded(record.seq);
        },
        unknown: (detail, differences) =>
          verdicts.diverge({ kind: 'environment', event: course.queue.position, scope: [], detail, differences }),
      },
      paths,
    );
    this.tools = new ServedTools(
      run.toolRuns,
      {
        called: (record) =>
          course.did(
            { event: record.seq, scope: [], what: `tool ${record.name}` },
            (act) => act.kind === 'tool' && act.tool === record,
          ),
        extra: (name) =>
          verdicts.diverge({
            kind: 'extra',
            event: course.queue.position,
            scope: [],
            detail: `the tool ${name}, whose outcome is on record, is called once more than it was`,
          }),
        differs: (record, difference) =>
          verdicts.diverge({
            kind: 'changed_request',
            event: record.seq,
            scope: [],
            detail: `the tool ${record.name}, whose outcome is on record, is called with other arguments`,
            differences: [difference],
          }),
        giving: (record) => {
          for (const child of record.children ?? []) files?.childEnded(child);
        },
      },
      paths,
    );
    verdicts.from({
      evidence: () => ({
        recorded: this.#requests.recorded,
        answers: this.#answers.kept,
        liveDraws: this.draws.live,
        changedTools: [...this.tools.changed],
      }),
      counts: () => this.#counts(),
    });
  }

  /** How many bytes of the output count; all, where the run ended by itself. */
  get outputBytes(): { stdout?: number; stderr?: number } {
    const { end } = this.#options.run;
    return end?.signal === undefined ? {} : { stdout: end.stdout.sizeBytes, stderr: end.stderr.sizeBytes };
  }

  /** Closes the ways out and begins to give what is on record. */
  begin(): void {
    sealProcess({
      isExpected: (peer) => this.#connections.isExpected(peer),
      opened: (socket) => this.#connections.opened(socket),
      refused: (what) => this.#verdicts.refused(what),
      processNumber: (pid) => this.#processNumber(pid),
    });
    this.#course.queue.start();
  }

  /** What the taps hand their exchanges to. */
  open(start: AskedStart): AskedExchange {
    return this.#requests.open(start);
  }

  /** An error ends the program. */
  failed(error: unknown): void {
    const { code } = Object(error) as { code?: unknown };
    if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') this.#lacksModule = true;
  }

  /** The process ends by itself. */
  ended(end: NonNullable<ProcessReport['end']>): void {
    if (this.#course.isOver) return;
    const { undone } = this.#course.queue;
    const missing = undone.find((act) => act.kind !== 'cancel');
    // What was given up at the end was not asked for again either.
    if (missing) {
      this.#verdicts.diverge(
        {
          kind: 'missing',
          event: missing.seq,
          scope: scopeOfAct(missing),
          detail: `the program ended without ${wordsOf(missing)}`,
          consequences: undone.slice(1).map((act) => `not done: ${wordsOf(act)}`),
        },
        true,
      );
      return;
    }
    const inputDetail = this.#inputAtEnd(end);
    if (inputDetail) this.#verdicts.diverge({ ...inputDetail, event: this.#course.queue.position, scope: [] }, true);
    else this.#verdicts.ended(end);
  }

  // What the queue asks.

  isReady(event: RunEvent): boolean {
    switch (event.kind) {
      case 'head':
      case 'chunk':
      case 'end':
        return this.#answers.isReady(event);
      case 'timer':
        return this.timers.waiting(event.timer) !== undefined;
      case 'child':
        return this.children.isLive(event.child);
      case 'thread':
        return this.threads.isHere(event.event);
      case 'tool':
        return this.tools.isWaiting(event.tool);
      case 'work':
        return this.work.isReady(event.work);
      case 'signal':
        return true;
      case 'input':
        return this.input?.isReading === true;
    }
  }

  release(events: readonly RunEvent[]): void {
    const [first] = events;
    if (!first) return;
    if (first.kind === 'timer') this.#fire(first);
    else if (first.kind === 'child') {
      if (first.event.kind === 'exit') this.#options.files?.childEnded(first.child.seq);
      this.children.give(first.child, first.event);
    } else if (first.kind === 'thread') this.threads.give(first.event);
    else if (first.kind === 'tool') this.tools.give(first.tool);
    else if (first.kind === 'work') this.work.give(first.work);
    else if (first.kind === 'signal') this.#verdicts.ended(this.#endAt(first.end), false);
    else if (first.kind === 'input') this.input?.give(first.piece);
    else this.#answers.give(first.exchange, events as readonly AnswerEvent[]);
  }

  waitMs(event: RunEvent): number {
    return this.#pace?.waitMs(event) ?? 0;
  }

  nextDraw(): number | undefined {
    const read = this.input?.nextSeq;
    const drawn = this.draws.nextSeq;
    return read === undefined || (drawn !== undefined && drawn < read) ? drawn : read;
  }

  mayCome(event: RunEvent): boolean {
    if (event.kind === 'work') return this.work.isUnderWay(event.work);
    return event.kind === 'thread' && this.threads.mayCome(event.event);
  }

  isWorking(): boolean {
    return this.work.isRunning;
  }

  pass(event: RunEvent): void {
    if (event.kind === 'work') this.work.pass(event.work);
  }

  activity(): number {
    return (
      this.work.changes +
      this.#course.moves +
      this.draws.count +
      this.timers.changes +
      this.threads.arrivals +
      (this.input?.changes ?? 0)
    );
  }

  tellIdle(): boolean {
    const isHeld =
      this.timers.isAnyHeld || this.#requests.isAnyOpen || this.children.isAnyLive || this.input?.isReading === true;
    return !isHeld && process.emit('beforeExit', Number(process.exitCode ?? 0));
  }

  missing(act: RunAct | undefined, event: RunEvent): void {
    this.#verdicts.diverge(act ? missingAct(act, this.#newTimer()) : missingEvent(event));
  }

  fewerDraws(event: RunEvent): void {
    this.#fewerDrawsBefore ??= event.seq;
  }

  #fire(event: RunEvent & { kind: 'timer' }): void {
    const timer = this.timers.waiting(event.timer);
    if (!timer) return;
    const { kind, delayMs, timerId } = event.timer;
    // A delay may be drawn, too.
    const isDelayFree = this.#options.unpinned?.isUnified === true;
    if (timer.kind === kind && (timer.delayMs === delayMs || isDelayFree)) {
      timer.fire();
      return;
    }
    this.#verdicts.diverge({
      kind: 'tick_drift',
      event: event.seq,
      scope: [],
      detail: `timer ${timerId} is a ${timer.kind} of ${timer.delayMs} ms (${timer.at}), and was a ${kind} of ${delayMs} ms (${event.timer.at ?? 'unknown'})`,
    });
  }

  /** Standard input that it left, or waits for where nothing more came. */
  #inputAtEnd(end: NonNullable<ProcessReport['end']>): { kind: 'missing' | 'extra'; detail: string } | undefined {
    if (this.input?.isAnyLeft) {
      return { kind: 'missing', detail: 'the program ended without all standard input that is on record' };
    }
    const { end: recorded } = this.#options.run;
    const isOther = end.exitCode !== recorded?.exitCode || end.stdout.sha256 !== recorded.stdout.sha256;
    if (!this.input?.isReading || !recorded || !isOther) return undefined;
    return { kind: 'extra', detail: 'the program waits for standard input, of which no more is on record' };
  }

  /** What a program may wait for that never comes, since it did not when it was recorded. */
  #newTimer(): string {
    const fired = new Set(this.#options.run.timers.map(({ timerId }) => timerId));
    const timer = this.timers.newestBeside(fired);
    return timer ? `; a ${timer.kind} of ${timer.delayMs} ms (${timer.at}), which never fired on record, waits` : '';
  }

  /** Where a signal ended the run, the replay ends too. */
  #endAt(end: RunEndRecord): NonNullable<ProcessReport['end']> {
    const { exitCode, stdout, stderr } = end;
    return { exitCode, ...(this.outputs?.() ?? { stdout, stderr }) };
  }

  #processNumber(pid: number): ProcessNumber | undefined {
    const { run, live } = this.#options;
    if (pid === live.pid || pid === run.start.pid) return 'own';
    // A number may have been another's before: the newest that has it counts.
    const child = this.children.stateOf(pid);
    if (child !== undefined) return child;
    return pid === live.ppid || pid === run.start.ppid ? 'parent' : undefined;
  }

  #counts(): ReturnType<Parameters<Verdicts['from']>[0]['counts']> {
    const { rungs, rules, remaining } = this.#requests.matcher.report();
    return {
      rungs,
      rules,
      extra: this.#requests.extra,
      missing: remaining.length,
      processesServed: this.children.served,
      toolsServed: this.tools.served,
      toolsChanged: [...this.tools.changed],
      refusedAsRecorded: this.#requests.refusedAsRecorded,
      draws: {
        count: this.draws.count,
        extra: this.draws.extra,
        ...(this.#fewerDrawsBefore === undefined ? {} : { fewerBefore: this.#fewerDrawsBefore }),
      },
      eventsGiven: this.#course.queue.released,
      ...(this.#lacksModule ? { lacksModule: true as const } : {}),
      filesNotApplied: [...(this.#options.files?.notApplied ?? [])],
    };
  }
}
