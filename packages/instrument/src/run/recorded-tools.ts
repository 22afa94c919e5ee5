/** Runs of wrapped tools in the order of a run: what went in, what came out, and what happened within. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { ToolRunError, ToolRunRecord } from '@orangebox/schema';
import type { ToolOutcome, ToolPort, ToolRun } from '../tool-port.ts';
import { plainJson } from './plain-data.ts';

/** What they are recorded through. */
export interface RecordedToolsHost {
  nextSeq(): number;
  record(record: ToolRunRecord): void;
  /** Whether a recorded request went over a socket. */
  isClaimed(socket: object): boolean;
  /** The run names this when it ends. */
  notReplayable(what: string, count: number): void;
}

/** Of one run more is not noted; it is not given again then. */
const MAX_WITHIN = 10_000;

type Kept = 'timers' | 'draws' | 'children';

/** What happened within a run of a tool, as far as it has come. */
class OpenTool {
  readonly outer: OpenTool | undefined;
  readonly frameId: string;
  readonly timers: number[] = [];
  readonly draws: number[] = [];
  readonly children: number[] = [];
  readonly sockets: Map<object, string> = new Map();
  /** Those of them that were made within. */
  readonly made: Set<object> = new Set();
  readonly notReplayable: Map<string, number> = new Map();
  isOverfull = false;

  constructor(outer: OpenTool | undefined, frameId: string) {
    this.outer = outer;
    this.frameId = frameId;
  }

  /** Frames of the tools around it, outermost first. */
  get within(): string[] {
    return this.outer ? [...this.outer.within, this.outer.frameId] : [];
  }

  /** What happens within it happens within those around it. */
  add(kind: Kept, item: number): void {
    if (this[kind].length < MAX_WITHIN) this[kind].push(item);
    else this.isOverfull = true;
    this.outer?.add(kind, item);
  }
}

/** The tools of a thread. */
export class RecordedTools implements ToolPort {
  readonly #host: RecordedToolsHost;
  readonly #here: AsyncLocalStorage<OpenTool> = new AsyncLocalStorage();
  readonly #given: WeakSet<object> = new WeakSet();

  constructor(host: RecordedToolsHost) {
    this.#host = host;
  }

  start(name: string, frameId: string, args: readonly unknown[]): ToolRun {
    const tool = new OpenTool(this.#here.getStore(), frameId);
    const seq = this.#host.nextSeq();
    const given = plainJson(args);
    return {
      within: (work) => this.#here.run(tool, work),
      ended: (outcome) => {
        const record: ToolRunRecord = {
          type: 'toolRun',
          seq,
          endSeq: this.#host.nextSeq(),
          name,
          frameId,
          ...(given === undefined ? {} : { args: given }),
          ...(tool.outer ? { within: tool.within } : {}),
          ...outcomeOf(outcome),
        };
        this.#host.record(this.#withContents(record, tool));
      },
    };
  }

  /** A timer was made, a value drawn or a child process started, by the code that runs now. */
  note(kind: Kept, item: number): void {
    this.#here.getStore()?.add(kind, item);
  }

  /** The code that runs now did something that cannot be given again. False where it is in no tool. */
  notReplayable(what: string): boolean {
    const tool = this.#here.getStore();
    if (!tool) return false;
    tool.notReplayable.set(what, (tool.notReplayable.get(what) ?? 0) + 1);
    return true;
  }

  touched(socket: object, target: string, how: 'made' | 'used'): void {
    const tool = this.#here.getStore();
    tool?.sockets.set(socket, target);
    if (how === 'made') tool?.made.add(socket);
  }

  isGiven(socket: object): boolean {
    return this.#given.has(socket);
  }

  /** What was noted is told of the tool where its outcome can be given, and of the run where it cannot. */
  #withContents(record: ToolRunRecord, tool: OpenTool): ToolRunRecord {
    const sockets = [...tool.sockets].filter(([socket]) => !this.#host.isClaimed(socket));
    const counts = new Map(tool.notReplayable);
    for (const [, target] of sockets)
      counts.set(`connection to ${target}`, (counts.get(`connection to ${target}`) ?? 0) + 1);
    if (counts.size === 0) return record;
    if (record.outcome === 'other' || record.args === undefined || tool.isOverfull) {
      // Connections are counted as all others are.
      for (const [what, count] of tool.notReplayable) this.#host.notReplayable(what, count);
      return record;
    }
    // One that was there before is made in a replay too, and refused: that is for the run to name.
    for (const [socket] of sockets) if (tool.made.has(socket)) this.#given.add(socket);
    const notReplayable = [...counts].map(([what, count]) => ({ what, count }));
    const { timers, draws, children } = tool;
    return { ...record, notReplayable, timers, draws, children };
  }
}

/** An outcome as it stands on record. */
export function outcomeOf(outcome: ToolOutcome): Pick<ToolRunRecord, 'isAsync' | 'outcome' | 'value' | 'error'> {
  const { isAsync } = outcome;
  if (outcome.kind === 'other') return { isAsync, outcome: 'other' };
  if (outcome.kind === 'threw') {
    const error = errorOf(outcome.error);
    return error ? { isAsync, outcome: 'threw', error } : { isAsync, outcome: 'other' };
  }
  if (outcome.value === undefined) return { isAsync, outcome: 'returned' };
  const value = plainJson(outcome.value);
  return value === undefined ? { isAsync, outcome: 'other' } : { isAsync, outcome: 'returned', value };
}

/** Its name, message and other own members; the stack is another each time. Undefined where one of them is no plain data. */
function errorOf(error: unknown): ToolRunError | undefined {
  if (!(error instanceof Error)) return undefined;
  const shown: Record<string, unknown> = {};
  const hidden: Record<string, unknown> = {};
  for (const [name, own] of Object.entries(Object.getOwnPropertyDescriptors(error))) {
    if (name === 'stack' || name === 'message') continue;
    if (!('value' in own) || plainJson(own.value) === undefined) return undefined;
    (own.enumerable === true ? shown : hidden)[name] = own.value;
  }
  const json = (members: Record<string, unknown>): string | undefined =>
    Object.keys(members).length > 0 ? plainJson(members) : undefined;
  const [members, hiddenMembers] = [json(shown), json(hidden)];
  return {
    name: String(error.name),
    message: String(error.message),
    ...(members === undefined ? {} : { members }),
    ...(hiddenMembers === undefined ? {} : { hidden: hiddenMembers }),
  };
}
