/** Records child processes: what went in, what came out, in its place of the order. */
import type { ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { ChildEvent, ChildRecord, RunRecord } from '@orangebox/schema';
import type { ChildPort, ChildStart, SyncChildResult, SyncChildStart } from './ports.ts';
import { type AnyFunction, replaceMethod } from './replace.ts';

/** What the recording works with. */
export interface ChildHost {
  nextSeq(): number;
  nextDelivery(): number;
  record(record: RunRecord): void;
  /** Something that no replay can give again. */
  notReplayable(what: string): void;
}

/** Starts them, and notes all that is seen of them. */
export class RecordedChildren implements ChildPort {
  readonly #host: ChildHost;
  readonly #open: Map<ChildRecord, { stdin: Buffer[] }> = new Map();

  constructor(host: ChildHost) {
    this.#host = host;
  }

  spawn(childObject: object, start: ChildStart, real: () => unknown): unknown {
    const child = childObject as ChildProcess;
    const record = this.#begin(start, false);
    const stdin: Buffer[] = [];
    this.#open.set(record, { stdin });
    if (start.hasMessages) this.#host.notReplayable('message channel to a child process');
    this.#watchEvents(child, record);
    const result = real();
    record.pid = child.pid ?? 0;
    if (child.stdin) watchInput(child.stdin, (bytes) => stdin.push(bytes));
    this.#watchOutput(child, 'stdout', start.inherits.stdout, record);
    this.#watchOutput(child, 'stderr', start.inherits.stderr, record);
    return result;
  }

  runSync(start: SyncChildStart, real: () => SyncChildResult): SyncChildResult {
    const record = this.#begin(start, true);
    record.stdin = Buffer.from(start.input).toString('base64');
    const result = real();
    record.pid = result.pid;
    const add = (event: Omit<ChildEvent, 'seq'>): void => {
      record.events.push({ seq: this.#host.nextSeq(), ...event });
    };
    for (const kind of ['stdout', 'stderr'] as const) {
      const bytes = result[kind];
      if (bytes) add({ kind, bytes: Buffer.from(bytes).toString('base64') });
    }
    if (result.error) add({ kind: 'error', error: errorOf(result.error) });
    add({ kind: 'exit', code: result.status, signal: result.signal });
    this.#host.record(record);
    return result;
  }

  /** Writes down what has not ended. */
  end(): void {
    for (const record of [...this.#open.keys()]) this.#finish(record);
  }

  #begin({ file, argv, cwd }: SyncChildStart | ChildStart, sync: boolean): ChildRecord {
    return { type: 'child', seq: this.#host.nextSeq(), file, argv, cwd, sync, pid: 0, stdin: '', events: [] };
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

  #watchEvents(child: ChildProcess, record: ChildRecord): void {
    replaceMethod(child, 'emit', (original) => {
      const emit: AnyFunction = (...args) => {
        const [name, first, second] = args as [unknown, unknown, unknown];
        if (name === 'spawn') this.#note(record, { kind: 'spawn' });
        else if (name === 'error') this.#note(record, { kind: 'error', error: errorOf(first) });
        else if (name === 'exit' || name === 'close') {
          const code = typeof first === 'number' ? first : null;
          this.#note(record, { kind: name, code, signal: typeof second === 'string' ? second : null });
          if (name === 'close') this.#finish(record);
        }
        return Reflect.apply(original, child, args) as unknown;
      };
      return emit;
    });
  }

  #watchOutput(child: ChildProcess, name: 'stdout' | 'stderr', isInherited: boolean, record: ChildRecord): void {
    const stream = child[name] as Readable | null;
    if (!stream) return;
    replaceMethod(stream, 'push', (original) => {
      const push: AnyFunction = (...args) => {
        const [chunk] = args as [unknown];
        if (chunk instanceof Uint8Array)
          this.#note(record, { kind: name, bytes: Buffer.from(chunk).toString('base64') });
        else if (chunk === null) this.#note(record, { kind: `${name}_end` });
        return Reflect.apply(original, stream, args) as unknown;
      };
      return push;
    });
    if (!isInherited) return;
    // As without us, the program has no stream of it.
    Object.assign(child, { [name]: null });
    stream.on('data', (bytes: Buffer) => process[name].write(bytes));
  }
}

function watchInput(stream: Writable, note: (bytes: Buffer) => void): void {
  for (const name of ['write', 'end']) {
    replaceMethod(stream, name, (original) => {
      const put: AnyFunction = (...args) => {
        const [chunk, encoding] = args as [unknown, unknown];
        if (typeof chunk === 'string') {
          note(Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8'));
        } else if (chunk instanceof Uint8Array) note(Buffer.from(chunk));
        return Reflect.apply(original, stream, args) as unknown;
      };
      return put;
    });
  }
}

function errorOf(error: unknown): NonNullable<ChildEvent['error']> {
  const { code, message, syscall } = error as { code?: unknown; message?: unknown; syscall?: unknown };
  return {
    code: typeof code === 'string' ? code : '',
    message: typeof message === 'string' ? message : '',
    ...(typeof syscall === 'string' ? { syscall } : {}),
  };
}
