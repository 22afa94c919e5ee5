/** Child processes from the recording: never started, each given once, in its place of the order. */
import { AsyncResource } from 'node:async_hooks';
import type { EventEmitter } from 'node:events';
import { Readable, Writable } from 'node:stream';
import type { ChildEvent, ChildRecord } from '@orangebox/schema';
import type { LeafDifference } from '../matching/types.ts';

/** What the program wants to start. */
export interface AskedChild {
  file: string;
  argv: string[];
  cwd: string;
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

/** Members of the platform's object that are set from here. */
interface ChildObject extends EventEmitter {
  pid?: number | undefined;
  exitCode: number | null;
  signalCode: string | null;
  killed: boolean;
  spawnfile?: string;
  spawnargs?: string[];
  stdin: Writable | null;
  stdout: Readable | null;
  stderr: Readable | null;
  stdio: unknown[];
}

interface ServedChild {
  object: ChildObject;
  resource: AsyncResource;
  written: Buffer[];
  inherits: { stdout: boolean; stderr: boolean };
}

/** The children of a thread. */
export class ServedChildren {
  readonly #records: readonly ChildRecord[];
  readonly #host: ChildrenHost;
  readonly #given: Set<ChildRecord> = new Set();
  readonly #live: Map<ChildRecord, ServedChild> = new Map();

  constructor(records: readonly ChildRecord[], host: ChildrenHost) {
    this.#records = [...records].sort((a, b) => a.seq - b.seq);
    this.#host = host;
  }

  /** Children given so far. */
  get served(): number {
    return this.#given.size;
  }

  spawn(object: object, asked: AskedChild): unknown {
    const record = this.#take(asked, false);
    if (!record) return undefined;
    const child = object as ChildObject;
    const written: Buffer[] = [];
    const stream = (): Readable => new Readable({ read: () => undefined });
    const input = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        written.push(Buffer.from(chunk));
        done();
      },
    });
    const { pipes, inherits = { stdout: false, stderr: false } } = asked;
    child.stdin = pipes?.stdin ? input : null;
    child.stdout = pipes?.stdout ? stream() : null;
    child.stderr = pipes?.stderr ? stream() : null;
    child.stdio = [child.stdin, child.stdout, child.stderr];
    child.spawnfile = asked.file;
    child.spawnargs = [asked.file, ...asked.argv];
    child.pid = record.pid === 0 ? undefined : record.pid;
    const own: Record<string, () => unknown> = {
      ref: () => undefined,
      unref: () => undefined,
      send: () => true,
      kill: () => {
        child.killed = true;
        return child.exitCode === null && child.signalCode === null;
      },
    };
    for (const [name, value] of Object.entries(own)) {
      Object.defineProperty(child, name, { configurable: true, writable: true, value });
    }
    this.#live.set(record, { object: child, resource: new AsyncResource('PROCESSWRAP'), written, inherits });
    return undefined;
  }

  runSync(asked: AskedChild): ServedResult {
    const nothing = { pid: 0, status: null, signal: null, stdout: null, stderr: null };
    const record = this.#take(asked, true);
    if (!record) return nothing;
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
    const live = this.#live.get(record);
    if (!live) return;
    const { object, resource, inherits, written } = live;
    const emit = (...args: [string, ...unknown[]]): void => void resource.runInAsyncScope(() => object.emit(...args));
    switch (event.kind) {
      case 'spawn':
        emit('spawn');
        return;
      case 'stdout':
      case 'stderr': {
        const bytes = bytesOf(event) ?? new Uint8Array();
        if (inherits[event.kind]) process[event.kind].write(bytes);
        else resource.runInAsyncScope(() => object[event.kind as 'stdout']?.push(bytes));
        return;
      }
      case 'stdout_end':
        resource.runInAsyncScope(() => object.stdout?.push(null));
        return;
      case 'stderr_end':
        resource.runInAsyncScope(() => object.stderr?.push(null));
        return;
      case 'error':
        emit('error', errorOf(event.error ?? { code: '', message: '' }, record));
        return;
      case 'exit':
        this.#compareInput(record, Buffer.concat(written));
        object.exitCode = event.code ?? null;
        object.signalCode = event.signal ?? null;
        emit('exit', event.code ?? null, event.signal ?? null);
        return;
      case 'close':
        emit('close', event.code ?? null, event.signal ?? null);
    }
  }

  /** The next child on record, if it is this one. */
  #take(asked: AskedChild, sync: boolean): ChildRecord | undefined {
    const left = this.#records.filter((record) => !this.#given.has(record));
    const found = left.find((record) => record.sync === sync && differencesOf(record, asked).length === 0);
    if (found) {
      this.#given.add(found);
      this.#host.served(found);
      return found;
    }
    const [next] = left;
    const what = `the child process ${asked.file} is ${next ? 'not the next on record' : 'on record no more'}`;
    this.#host.unknown(what, next ? differencesOf(next, asked) : []);
    return undefined;
  }

  #compareInput(record: ChildRecord, written: Buffer): void {
    const recorded = Buffer.from(record.stdin, 'base64');
    if (recorded.equals(written) || recorded.includes('{{secret:')) return;
    this.#host.unknown(`the child process ${record.file} was given another input`, [
      difference('child.stdin', recorded.toString('utf8'), written.toString('utf8')),
    ]);
  }
}

function differencesOf(record: ChildRecord, asked: AskedChild): LeafDifference[] {
  const found: LeafDifference[] = [];
  const compare = (path: string, recorded: string | undefined, live: string | undefined): void => {
    // A secret on record stands for any text.
    if (recorded !== live && recorded?.includes('{{secret:') !== true) found.push(difference(path, recorded, live));
  };
  compare('child.file', record.file, asked.file);
  for (let i = 0; i < Math.max(record.argv.length, asked.argv.length); i++) {
    compare(`child.argv[${i}]`, record.argv[i], asked.argv[i]);
  }
  compare('child.cwd', record.cwd, asked.cwd);
  return found;
}

function difference(path: string, recorded: string | undefined, live: string | undefined): LeafDifference {
  return {
    path,
    ...(recorded === undefined ? {} : { recorded: { type: 'text', text: recorded } }),
    ...(live === undefined ? {} : { live: { type: 'text', text: live } }),
  };
}

function bytesOf(event: ChildEvent | undefined): Buffer | null {
  return event?.bytes === undefined ? null : Buffer.from(event.bytes, 'base64');
}

function errorOf(error: NonNullable<ChildEvent['error']>, { file, argv }: { file: string; argv: string[] }): Error {
  const { errno } = process.getBuiltinModule('node:os').constants;
  const number = errno[error.code as 'ENOENT'];
  return Object.assign(new Error(error.message), {
    ...(number === undefined ? {} : { errno: -number }),
    code: error.code,
    ...(error.syscall === undefined ? {} : { syscall: error.syscall }),
    path: file,
    spawnargs: argv,
  });
}
