/** Records child processes: what went in, what came out, in its place of the order. */
import type { ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { ChildEvent, ChildRecord, RunRecord } from '@orangebox/schema';
import { bringOutput } from './brought-output.ts';
import { OUTPUTS, type OutputName } from './child-options.ts';
import { HeldBytes } from './held-bytes.ts';
import type { ChildPort, ChildStart, SyncChildResult, SyncChildStart } from './ports.ts';
import { type AnyFunction, replaceMethod } from './replace.ts';

/** What the recording works with. */
export interface ChildHost {
  nextSeq(): number;
  nextDelivery(): number;
  record(record: RunRecord): void;
  /** Something that no replay can give again. */
  notReplayable(what: string): void;
  /** Writes what a child wrote to the program's own output. */
  write(name: OutputName, bytes: Buffer): void;
  /** One is about to be started. */
  starting?(): void;
  /** One has ended, and the program was not told yet. */
  ended?(record: ChildRecord): void;
}

/** A child that runs. */
interface OpenChild {
  stdin: Buffer[];
  input: HeldBytes;
  output: HeldBytes;
  /** Bring what it has written to the program's own output so far. */
  bring: (() => void)[];
}

/** Starts them, and notes all that is seen of them. */
export class RecordedChildren implements ChildPort {
  readonly #host: ChildHost;
  readonly #open: Map<ChildRecord, OpenChild> = new Map();

  constructor(host: ChildHost) {
    this.#host = host;
  }

  spawn(childObject: object, start: ChildStart, real: () => unknown): unknown {
    const child = childObject as ChildProcess;
    const record = this.#begin(start, false);
    const open: OpenChild = { stdin: [], ...this.#bounds(start), bring: [] };
    this.#open.set(record, open);
    this.#watchEvents(child, record, open);
    let result: unknown;
    try {
      result = real();
    } catch (error) {
      // It was refused, not started.
      this.#open.delete(record);
      throw error;
    }
    record.pid = child.pid ?? 0;
    if (start.hasMessages) this.#host.notReplayable('message channel to a child process');
    this.#tellGaps(start);
    if (child.stdin) watchInput(child.stdin, (bytes) => this.#noteInput(open, bytes));
    for (const [, name] of OUTPUTS) {
      if (!start.inherits[name]) this.#watchOutput(child, name, record, open);
      else if (!start.past.includes(name)) open.bring.push(this.#bring(child, name, record, open));
    }
    return result;
  }

  runSync(start: SyncChildStart, real: () => SyncChildResult): SyncChildResult {
    const record = this.#begin(start, true);
    const { input, output } = this.#bounds(start);
    const result = real();
    this.#host.ended?.(record);
    this.#tellGaps(start);
    record.stdin = (input.keep(start.input) ?? Buffer.alloc(0)).toString('base64');
    record.pid = result.pid;
    const add = (event: Omit<ChildEvent, 'seq'>): void => {
      record.events.push({ seq: this.#host.nextSeq(), ...event });
    };
    for (const [, kind] of OUTPUTS) {
      const bytes = result[kind];
      if (bytes) add({ kind, bytes: (output.keep(bytes) ?? Buffer.alloc(0)).toString('base64') });
    }
    if (result.error) add({ kind: 'error', error: errorOf(result.error) });
    add({ kind: 'exit', code: result.status, signal: result.signal });
    this.#host.record(record);
    return result;
  }

  /** Writes down what has not ended. */
  end(): void {
    for (const [record, { bring }] of [...this.#open]) {
      for (const now of bring) now();
      this.#finish(record);
    }
  }

  #begin({ file, argv, cwd }: SyncChildStart | ChildStart, sync: boolean): ChildRecord {
    this.#host.starting?.();
    return { type: 'child', seq: this.#host.nextSeq(), file, argv, cwd, sync, pid: 0, stdin: '', events: [] };
  }

  #bounds({ file }: SyncChildStart | ChildStart): Pick<OpenChild, 'input' | 'output'> {
    const bound = (what: string): HeldBytes =>
      new HeldBytes((size) => this.#host.notReplayable(`${what} of ${file} beyond ${size}`));
    return { input: bound('input'), output: bound('output') };
  }

  #tellGaps({ file, past, hasMorePipes }: SyncChildStart | ChildStart): void {
    if (past.length > 0) this.#host.notReplayable(`output of ${file} that did not come by the program`);
    if (hasMorePipes) this.#host.notReplayable(`pipe to ${file} beyond its standard error`);
  }

  #finish(record: ChildRecord): void {
    const open = this.#open.get(record);
    if (!open) return;
    this.#open.delete(record);
    record.stdin = Buffer.concat(open.stdin).toString('base64');
    this.#host.record(record);
  }

  #note(record: ChildRecord, event: Omit<ChildEvent, 'seq'>): void {
    record.events.push({ seq: this.#host.nextDelivery(), ...event });
  }

  #noteInput(open: OpenChild, bytes: Uint8Array): void {
    const kept = open.input.keep(bytes);
    if (kept) open.stdin.push(kept);
  }

  #noteOutput(record: ChildRecord, { output }: OpenChild, kind: OutputName, bytes: Uint8Array): void {
    const kept = output.keep(bytes);
    if (kept) this.#note(record, { kind, bytes: kept.toString('base64') });
  }

  #watchEvents(child: ChildProcess, record: ChildRecord, open: OpenChild): void {
    replaceMethod(child, 'emit', (original) => {
      const emit: AnyFunction = (...args) => {
        const [name, first, second] = args as [unknown, unknown, unknown];
        if (name === 'spawn') this.#note(record, { kind: 'spawn' });
        // What the program aborted, the platform tells it in a replay too.
        else if (name === 'error' && !isAbort(first)) this.#note(record, { kind: 'error', error: errorOf(first) });
        else if (name === 'exit' || name === 'close') {
          // All that it wrote was there before anybody was told that it ended.
          if (name === 'exit') {
            for (const now of open.bring) now();
            this.#host.ended?.(record);
          }
          const code = typeof first === 'number' ? first : null;
          this.#note(record, { kind: name, code, signal: typeof second === 'string' ? second : null });
          if (name === 'close') this.#finish(record);
        }
        return Reflect.apply(original, child, args) as unknown;
      };
      return emit;
    });
  }

  #watchOutput(child: ChildProcess, name: OutputName, record: ChildRecord, open: OpenChild): void {
    const stream = child[name] as Readable | null;
    if (!stream) return;
    replaceMethod(stream, 'push', (original) => {
      const push: AnyFunction = (...args) => {
        const [chunk] = args as [unknown];
        if (chunk instanceof Uint8Array) this.#noteOutput(record, open, name, chunk);
        else if (chunk === null) this.#note(record, { kind: `${name}_end` });
        return Reflect.apply(original, stream, args) as unknown;
      };
      return push;
    });
  }

  #bring(child: ChildProcess, name: OutputName, record: ChildRecord, open: OpenChild): () => void {
    let isTold = false;
    return bringOutput(child, name, (bytes) => {
      if (this.#open.has(record)) this.#noteOutput(record, open, name, bytes);
      // A process that the child left behind.
      else if (!isTold) {
        isTold = true;
        this.#host.notReplayable(`output of ${record.file} after it had ended`);
      }
      this.#host.write(name, bytes);
    });
  }
}

function watchInput(stream: Writable, note: (bytes: Uint8Array) => void): void {
  for (const name of ['write', 'end']) {
    replaceMethod(stream, name, (original) => {
      const put: AnyFunction = (...args) => {
        const [chunk, encoding] = args as [unknown, unknown];
        if (typeof chunk === 'string') {
          note(Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8'));
        } else if (chunk instanceof Uint8Array) note(chunk);
        return Reflect.apply(original, stream, args) as unknown;
      };
      return put;
    });
  }
}

function isAbort(error: unknown): boolean {
  return (error as { code?: unknown } | undefined)?.code === 'ABORT_ERR';
}

function errorOf(error: unknown): NonNullable<ChildEvent['error']> {
  const { code, message, syscall } = (error ?? {}) as { code?: unknown; message?: unknown; syscall?: unknown };
  return {
    code: typeof code === 'string' ? code : '',
    message: typeof message === 'string' ? message : '',
    ...(typeof syscall === 'string' ? { syscall } : {}),
  };
}
