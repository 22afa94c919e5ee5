/** Tools whose outcome is given from the recording, since what they did cannot be done again; all others run. */
import type { ToolRunError, ToolRunRecord } from '@orangebox/schema';
import type { LeafDifference } from '../matching/types.ts';
import type { SecretFit } from '../matching/secret-fit.ts';
import { ChildSecrets } from './child-match.ts';
import type { PathPair } from './files/path-pair.ts';
import type { RecordedRun } from './recorded-run.ts';

/** Who is told of them. */
export interface ToolsHost {
  /** The program calls a tool that is given. */
  called(record: ToolRunRecord): void;
  /** Once more than on record. */
  extra(name: string): void;
  /** With other arguments than on record. */
  differs(record: ToolRunRecord, difference: LeafDifference): void;
  /** The outcome of one is about to be given. */
  giving(record: ToolRunRecord): void;
}

/** A run of a tool that has begun. */
export interface BegunTool {
  /** Gives or throws what it gave; absent where the function is to run. */
  serve?: () => unknown;
  /** The function ran, and this is the outcome. */
  ended(outcome: Pick<ToolRunRecord, 'outcome' | 'value' | 'error'>): void;
}

/** Whether a replay gives a tool's outcome. */
export function isServed({ notReplayable, outcome }: ToolRunRecord): boolean {
  return (notReplayable?.length ?? 0) > 0 && outcome !== 'other';
}

/** The recorded run as it is replayed: without what happened within tools that are given. */
export function withoutServedTools(run: RecordedRun): RecordedRun {
  const served = run.toolRuns.filter(isServed);
  if (served.length === 0) return run;
  const of = (kind: 'timers' | 'draws' | 'children'): Set<number> =>
    new Set(served.flatMap((tool) => tool[kind] ?? []));
  const frames = new Set(served.map(({ frameId }) => frameId));
  const isWithin = (scope: readonly { kind: string; id: string }[]): boolean =>
    scope.some(({ kind, id }) => kind === 'tool' && frames.has(id));
  const [timers, draws, children] = [of('timers'), of('draws'), of('children')];
  return {
    ...run,
    exchanges: run.exchanges.filter(({ start }) => !isWithin(start.scope)),
    draws: run.draws.filter(({ seq }) => !draws.has(seq)),
    timers: run.timers.filter(({ timerId }) => !timers.has(timerId)),
    children: run.children.filter(({ seq }) => !children.has(seq)),
    // A tool that was called by one that is given is not called.
    toolRuns: run.toolRuns.filter(({ within }) => within?.some((frame) => frames.has(frame)) !== true),
    timersWithinTools: timers,
  };
}

/** The tools of a thread. */
export class ServedTools {
  readonly #host: ToolsHost;
  readonly #paths: PathPair | undefined;
  readonly #secrets: ChildSecrets = new ChildSecrets();
  readonly #byName: Map<string, ToolRunRecord[]> = new Map();
  readonly #waiting: Map<ToolRunRecord, (outcome: { value: unknown } | { error: Error }) => void> = new Map();
  /** Names of tools that are given. */
  readonly #given: Set<string> = new Set();
  /** Outcomes given so far. */
  served = 0;
  /** Names of tools that ran again and had another outcome. */
  readonly changed: Set<string> = new Set();

  constructor(runs: readonly ToolRunRecord[], host: ToolsHost, paths?: PathPair) {
    this.#host = host;
    this.#paths = paths;
    for (const run of [...runs].sort((a, b) => a.seq - b.seq)) {
      const list = this.#byName.get(run.name) ?? [];
      this.#byName.set(run.name, list);
      list.push(run);
      if (isServed(run)) this.#given.add(run.name);
    }
  }

  /** The program calls a tool; `args` is their JSON, where they are plain data. */
  start(name: string, args: string | undefined): BegunTool {
    const record = this.#byName.get(name)?.shift();
    if (!record) {
      // It would only do what cannot be done.
      if (this.#given.has(name)) this.#host.extra(name);
      return { ended: () => undefined };
    }
    if (!isServed(record)) return { ended: (outcome) => this.#compare(record, outcome) };
    const live = args === undefined ? undefined : (this.#paths?.toRecorded(args) ?? args);
    const found: SecretFit[] = [];
    if (live === undefined || !this.#secrets.fits(record.args ?? '', live, found)) {
      this.#host.differs(record, {
        path: 'tool.arguments',
        recorded: { type: 'text', text: record.args ?? '' },
        ...(live === undefined ? {} : { live: { type: 'text', text: live } }),
      });
    } else {
      this.#secrets.bind(found);
      this.#host.called(record);
    }
    return { serve: () => this.#serve(record), ended: () => undefined };
  }

  /** Whether the program waits for the outcome of one. */
  isWaiting(record: ToolRunRecord): boolean {
    return this.#waiting.has(record);
  }

  /** Gives it. */
  give(record: ToolRunRecord): void {
    const settle = this.#waiting.get(record);
    this.#waiting.delete(record);
    this.#host.giving(record);
    settle?.(outcomeOf(record));
  }

  #serve(record: ToolRunRecord): unknown {
    this.served++;
    if (record.isAsync) {
      return new Promise((resolve, reject) => {
        this.#waiting.set(record, (outcome) => ('error' in outcome ? reject(outcome.error) : resolve(outcome.value)));
      });
    }
    this.#host.giving(record);
    const outcome = outcomeOf(record);
    if ('error' in outcome) throw outcome.error;
    return outcome.value;
  }

  #compare(record: ToolRunRecord, live: Pick<ToolRunRecord, 'outcome' | 'value' | 'error'>): void {
    if (record.outcome === 'other' || live.outcome === 'other') return;
    const text = (run: typeof live): string => JSON.stringify([run.outcome, run.value, run.error]);
    const liveText = this.#paths?.toRecorded(text(live)) ?? text(live);
    if (!this.#secrets.fits(text(record), liveText, [])) this.changed.add(record.name);
  }
}

function outcomeOf({ outcome, value, error }: ToolRunRecord): { value: unknown } | { error: Error } {
  if (outcome === 'threw') return { error: errorOf(error ?? { name: 'Error', message: '' }) };
  return { value: value === undefined ? undefined : (JSON.parse(value) as unknown) };
}

const ERRORS: Readonly<Record<string, ErrorConstructor>> = {
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError,
};

/** An error of the platform's class of that name, else an `Error` that has the name. */
function errorOf({ name, message, members, hidden }: ToolRunError): Error {
  const made = new (Object.hasOwn(ERRORS, name) ? (ERRORS[name] ?? Error) : Error)(message);
  for (const [json, isShown] of [
    [members, true],
    [hidden, false],
  ] as const) {
    const own = json === undefined ? {} : (JSON.parse(json) as Record<string, unknown>);
    for (const [key, value] of Object.entries(own)) define(made, key, value, isShown);
  }
  if (made.name !== name) define(made, 'name', name, false);
  return made;
}

/** As data, whatever its name: a recording may say anything. */
function define(target: object, key: string, value: unknown, enumerable: boolean): void {
  Object.defineProperty(target, key, { value, enumerable, writable: true, configurable: true });
}
