/** One child process from the recording, as the program sees it. */
import { AsyncResource } from 'node:async_hooks';
import type { EventEmitter } from 'node:events';
import { Readable, Writable } from 'node:stream';
import type { ChildEvent, ChildRecord } from '@orangebox/schema';
import type { AskedChild } from './served-children.ts';

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

/** A child that the program has. */
export class ServedChild {
  readonly record: ChildRecord;
  readonly #object: ChildObject;
  readonly #resource: AsyncResource = new AsyncResource('PROCESSWRAP');
  readonly #written: Buffer[] = [];
  readonly #inherits: { stdout: boolean; stderr: boolean };
  /** What came and comes once: a recording may have it twice, or data behind an end. */
  readonly #came: Set<ChildEvent['kind']> = new Set();

  constructor(object: object, record: ChildRecord, asked: AskedChild) {
    this.record = record;
    const child = object as ChildObject;
    this.#object = child;
    const { pipes, inherits = { stdout: false, stderr: false } } = asked;
    this.#inherits = inherits;
    const stream = (): Readable => new Readable({ read: () => undefined });
    const input = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        this.#written.push(Buffer.from(chunk));
        done();
      },
    });
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
        if (this.hasEnded) return false;
        child.killed = true;
        return true;
      },
    };
    for (const [name, value] of Object.entries(own)) {
      Object.defineProperty(child, name, { configurable: true, writable: true, value });
    }
  }

  /** Whether it is there no more. */
  get hasEnded(): boolean {
    return this.record.pid === 0 || this.#came.has('exit') || this.#came.has('close');
  }

  /** What the program wrote to it so far. */
  get written(): Buffer {
    return Buffer.concat(this.#written);
  }

  /** Gives an event. */
  give(event: ChildEvent): void {
    const object = this.#object;
    const isData = event.kind === 'stdout' || event.kind === 'stderr';
    if (this.#came.has(isData ? (`${event.kind}_end` as 'stdout_end') : event.kind)) return;
    if (!isData) this.#came.add(event.kind);
    switch (event.kind) {
      case 'spawn':
        this.#emit('spawn');
        return;
      case 'stdout':
      case 'stderr': {
        const bytes = bytesOf(event) ?? new Uint8Array();
        if (this.#inherits[event.kind]) process[event.kind].write(bytes);
        else this.#push(event.kind, bytes);
        return;
      }
      case 'stdout_end':
        this.#push('stdout', null);
        return;
      case 'stderr_end':
        this.#push('stderr', null);
        return;
      case 'error':
        this.#emit('error', errorOf(event.error ?? { code: '', message: '' }, this.record));
        return;
      case 'exit':
        object.exitCode = event.code ?? null;
        object.signalCode = event.signal ?? null;
        this.#emit('exit', event.code ?? null, event.signal ?? null);
        return;
      case 'close':
        this.#emit('close', event.code ?? null, event.signal ?? null);
    }
  }

  #emit(...args: [string, ...unknown[]]): void {
    this.#resource.runInAsyncScope(() => this.#object.emit(...args));
  }

  #push(name: 'stdout' | 'stderr', bytes: Uint8Array | null): void {
    this.#resource.runInAsyncScope(() => this.#object[name]?.push(bytes));
  }
}

/** The bytes of an event; null where it has none. */
export function bytesOf(event: ChildEvent | undefined): Buffer | null {
  return event?.bytes === undefined ? null : Buffer.from(event.bytes, 'base64');
}

/** The error with which a start failed. */
export function errorOf(
  error: NonNullable<ChildEvent['error']>,
  { file, argv }: { file: string; argv: string[] },
): Error {
  const errno: { readonly [code: string]: number } = process.getBuiltinModule('node:os').constants.errno;
  const number = Object.hasOwn(errno, error.code) ? errno[error.code] : undefined;
  return Object.assign(new Error(error.message), {
    ...(number === undefined ? {} : { errno: -number }),
    code: error.code,
    ...(error.syscall === undefined ? {} : { syscall: error.syscall }),
    path: file,
    spawnargs: argv,
  });
}
