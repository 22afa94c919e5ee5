/** Child processes from the recording: never started, each given once, in its place of the order. */
import type { ChildEvent, ChildRecord } from '@orangebox/schema';
import type { SecretFit } from '../matching/secret-fit.ts';
import type { LeafDifference } from '../matching/types.ts';
import { type AskedCommand, ChildSecrets, commandDifferences, inputDifferences } from './child-match.ts';
import type { PathPair } from './files/path-pair.ts';
import { bytesOf, errorOf, ServedChild } from './served-child.ts';

/** What the program wants to start. */
export interface AskedChild extends AskedCommand {
  inherits?: { stdout: boolean; stderr: boolean };
  pipes?: { stdin: boolean; stdout: boolean; stderr: boolean };
  /** Of one that the program waits for. */
  input?: Uint8Array;
}

/** What a child left that the program waited for. */
export interface ServedResult {
  pid: number;
  status: number | null;
  signal: string | null;
  stdout: Uint8Array | null;
  stderr: Uint8Array | null;
  error?: Error;
}

/** Who is told. */
export interface ChildrenHost {
  /** The program started the next child on record. */
  served(record: ChildRecord): void;
  /** It started another, or gave it another input; does not return where the replay ends. */
  unknown(what: string, differences: LeafDifference[]): void;
}

/** The children of a thread. */
export class ServedChildren {
  readonly #records: readonly ChildRecord[];
  readonly #host: ChildrenHost;
  readonly #paths: PathPair | undefined;
  readonly #secrets: ChildSecrets = new ChildSecrets();
  readonly #given: Set<ChildRecord> = new Set();
  readonly #live: Map<ChildRecord, ServedChild> = new Map();
  /** By process number, the newest that has it. */
  readonly #byPid: Map<number, ServedChild | 'ended'> = new Map();

  /** `paths`: where the working directory is another one. */
  constructor(records: readonly ChildRecord[], host: ChildrenHost, paths?: PathPair) {
    this.#paths = paths;
    this.#records = [...records].sort((a, b) => a.seq - b.seq);
    this.#host = host;
  }

  /** Whether a child has not ended. */
  get isAnyLive(): boolean {
    return [...this.#live.values()].some((child) => !child.hasEnded);
  }

  /** Children given so far. */
  get served(): number {
    return this.#given.size;
  }

  /** What the program knows by a process number. */
  stateOf(pid: number): 'child' | 'ended' | undefined {
    // A process group is named by the negative number of who leads it.
    const known = this.#byPid.get(Math.abs(pid));
    if (known === undefined) return undefined;
    return known === 'ended' || known.hasEnded ? 'ended' : 'child';
  }

  spawn(object: object, asked: AskedChild): unknown {
    const record = this.#take(asked, false);
    if (!record) return undefined;
    const child = new ServedChild(object, record, asked);
    this.#live.set(record, child);
    if (record.pid > 0) this.#byPid.set(record.pid, child);
    return undefined;
  }

  runSync(asked: AskedChild): ServedResult {
    const nothing = { pid: 0, status: null, signal: null, stdout: null, stderr: null };
    const record = this.#take(asked, true);
    if (!record) return nothing;
    if (record.pid > 0) this.#byPid.set(record.pid, 'ended');
    this.#compareInput(record, Buffer.from(asked.input ?? new Uint8Array()));
    const of = (kind: ChildEvent['kind']): ChildEvent | undefined => record.events.find((event) => event.kind === kind);
    const exit = of('exit');
    const error = of('error')?.error;
    return {
      pid: record.pid,
      status: exit?.code ?? null,
      signal: exit?.signal ?? null,
      stdout: bytesOf(of('stdout')),
      stderr: bytesOf(of('stderr')),
      ...(error ? { error: errorOf(error, asked) } : {}),
    };
  }

  /** Whether the program has the child that an event is of. */
  isLive(record: ChildRecord): boolean {
    return this.#live.has(record);
  }

  /** Gives an event. */
  give(record: ChildRecord, event: ChildEvent): void {
    const child = this.#live.get(record);
    if (!child) return;
    if (event.kind === 'exit') this.#compareInput(record, child.written);
    child.give(event);
  }

  /** The next child on record, if it is this one. */
  #take(live: AskedChild, sync: boolean): ChildRecord | undefined {
    const asked = this.#asRecorded(live);
    let next: ChildRecord | undefined;
    for (const record of this.#records) {
      if (this.#given.has(record)) continue;
      next ??= record;
      const secrets: SecretFit[] = [];
      if (record.sync !== sync || commandDifferences(record, asked, this.#secrets, secrets).length > 0) continue;
      this.#secrets.bind(secrets);
      this.#given.add(record);
      this.#host.served(record);
      return record;
    }
    const what = `the child process ${asked.file} is ${next ? 'not the next on record' : 'on record no more'}`;
    this.#host.unknown(what, next ? commandDifferences(next, asked, this.#secrets) : []);
    return undefined;
  }

  #asRecorded({ file, argv, cwd }: AskedCommand): AskedCommand {
    const paths = this.#paths;
    if (!paths) return { file, argv, cwd };
    return { file, argv: argv.map((arg) => paths.toRecorded(arg)), cwd: paths.relativeToRecorded(cwd) };
  }

  #compareInput(record: ChildRecord, live: Buffer): void {
    const written = this.#paths ? Buffer.from(this.#paths.bytesToRecorded(live)) : live;
    const differences = inputDifferences(record, written, this.#secrets);
    if (differences.length > 0) {
      this.#host.unknown(`the child process ${record.file} was given another input`, differences);
    }
  }
}
