/** Records standard input: what it gave to the program, in its place of the order. */
import { fstatSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { isatty } from 'node:tty';
import type { InputKind, InputPiece, RunRecord } from '@orangebox/schema';
import { HeldBytes } from './held-bytes.ts';
import type { InputPort, SyncInput } from './ports.ts';
import { replaceMethod } from './replace.ts';

/** What the recording works with. */
export interface InputHost {
  nextSeq(): number;
  nextDelivery(): number;
  record(record: RunRecord): void;
  /** Something that no replay can give again. */
  notReplayable(what: string): void;
  /** Something comes to the program. */
  coming(): void;
}

/** Pieces that are written down together at most: who types without an end of line would have them all lost in a crash. */
const PIECES_MAX = 256;
const LINE_ENDS: readonly number[] = [0x0a, 0x0d];
/** A key in PEM has many lines, and is known as a secret only whole. */
const BEGIN = Buffer.from('-----BEGIN ');
const END = Buffer.from('-----END ');

/** What standard input is; the program's stream of it is not opened for this. */
export function inputKind(): InputKind {
  if (isatty(0)) return 'terminal';
  try {
    const stats = fstatSync(0);
    return stats.isFIFO() || stats.isSocket() ? 'pipe' : 'file';
  } catch {
    return 'file';
  }
}

/** Notes what the stream and the functions that wait give, and changes nothing of it. */
export class RecordedInput implements InputPort {
  readonly #host: InputHost;
  readonly #bound: HeldBytes;
  /** Not written down: a secret may lie across pieces, and lines are what secrets do not go beyond. */
  #pieces: InputPiece[] = [];
  #isBeyond = false;

  constructor(host: InputHost) {
    this.#host = host;
    this.#bound = new HeldBytes((bound) => {
      this.#isBeyond = true;
      host.notReplayable(`standard input beyond ${bound}`);
    });
  }

  open(real: () => unknown): unknown {
    const stream = real();
    if (typeof stream !== 'object' || stream === null) return stream;
    const came = (chunk: unknown): void => {
      this.#host.coming();
      if (chunk === null) this.#end();
      else if (chunk instanceof Uint8Array) this.#keep(chunk, () => this.#host.nextDelivery());
    };
    replaceMethod(stream as Readable, 'push', (original) => {
      const { push } = {
        push(this: unknown, ...args: unknown[]): unknown {
          came(args[0]);
          return Reflect.apply(original, this, args);
        },
      };
      return push;
    });
    return stream;
  }

  readSync(buffer: Uint8Array, real: () => number): number {
    const size = this.#noting('readSync', real);
    this.#keep(buffer.subarray(0, size), () => this.#host.nextSeq(), 'readSync');
    return size;
  }

  readFileSync(real: () => Buffer): Buffer {
    const bytes = this.#noting('readFileSync', real);
    this.#keep(bytes, () => this.#host.nextSeq(), 'readFileSync');
    return bytes;
  }

  /** The run ends. */
  end(): void {
    this.#flush();
  }

  #noting<T>(by: SyncInput, real: () => T): T {
    try {
      return real();
    } catch (error) {
      const { code, errno, syscall } = error as { code?: unknown; errno?: unknown; syscall?: unknown };
      const isSystems = typeof code === 'string' && typeof errno === 'number';
      // A program may ask without end whether something is there.
      if (isSystems && syscall !== 'read')
        this.#host.notReplayable('standard input that could not be opened by its path');
      else if (isSystems && !this.#isBeyond && this.#bound.keep(new Uint8Array())) {
        this.#add({ seq: this.#host.nextSeq(), bytes: '', by, errorCode: code });
      }
      throw error;
    }
  }

  #keep(bytes: Uint8Array, seq: () => number, by?: SyncInput): void {
    const kept = this.#isBeyond ? undefined : this.#bound.keep(bytes);
    if (!kept) return;
    this.#add({ seq: seq(), bytes: kept.toString('base64'), ...(by === undefined ? {} : { by }) });
    if (LINE_ENDS.includes(kept.at(-1) ?? -1) && !this.#isWithinKey()) this.#flush();
  }

  #end(): void {
    // Behind a gap it would come too early.
    if (!this.#isBeyond) this.#add({ seq: this.#host.nextDelivery(), bytes: '', isEnd: true });
    this.#flush();
  }

  #add(piece: InputPiece): void {
    this.#pieces.push(piece);
    if (this.#pieces.length >= PIECES_MAX) this.#flush();
  }

  #isWithinKey(): boolean {
    const bytes = Buffer.concat(this.#pieces.map((piece) => Buffer.from(piece.bytes, 'base64')));
    return bytes.lastIndexOf(BEGIN) > bytes.lastIndexOf(END);
  }

  #flush(): void {
    if (this.#pieces.length === 0) return;
    this.#host.record({ type: 'input', pieces: this.#pieces });
    this.#pieces = [];
  }
}
