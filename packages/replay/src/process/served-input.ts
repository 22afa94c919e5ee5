/** Standard input from the recording; the real one is not read. */
import { AsyncResource } from 'node:async_hooks';
import { constants } from 'node:os';
import { getSystemErrorMap } from 'node:util';
import type { InputKind, InputPiece } from '@orangebox/schema';
import { type InputStream, inputStream } from './input-stream.ts';

type SyncInput = NonNullable<InputPiece['by']>;

/** Gives it to the program: the stream's pieces when the queue says so, the others where it waits for them. */
export class ServedInput {
  /** Changes with whatever the program does with it. */
  changes = 0;
  readonly #kind: InputKind;
  readonly #synchronous: InputPiece[];
  readonly #unknown: (detail: string) => void;
  #nextSync = 0;
  /** Of what a function was given, not taken yet. */
  #rest: Uint8Array = new Uint8Array();
  #pieces: number;
  #stream: (InputStream & { resource: AsyncResource }) | undefined;

  /** `unknown`: the program reads what is not on record; does not return where the replay ends. */
  constructor(kind: InputKind, pieces: readonly InputPiece[], unknown: (detail: string) => void) {
    this.#kind = kind;
    this.#synchronous = pieces.filter(({ by }) => by !== undefined);
    this.#pieces = pieces.filter(({ by, bytes }) => by === undefined && bytes !== '').length;
    this.#unknown = unknown;
  }

  /** Whether the program asks the stream for more. */
  get isReading(): boolean {
    return this.#stream?.isReading() === true;
  }

  /** Whether bytes are left that the program has not taken. */
  get isAnyLeft(): boolean {
    return this.#pieces > 0 || this.#synchronous.slice(this.#nextSync).some(({ bytes }) => bytes !== '');
  }

  /** Place of the next piece that a function waited for. */
  get nextSeq(): number | undefined {
    return this.#synchronous[this.#nextSync]?.seq;
  }

  open(): unknown {
    this.#stream ??= {
      ...inputStream(this.#kind, () => void this.changes++),
      resource: new AsyncResource(this.#kind === 'terminal' ? 'TTYWRAP' : 'PIPEWRAP'),
    };
    return this.#stream.stream;
  }

  readSync(buffer: Uint8Array): number {
    if (this.#rest.length === 0) this.#rest = this.#take('readSync');
    const size = Math.min(buffer.length, this.#rest.length);
    buffer.set(this.#rest.subarray(0, size));
    this.#rest = this.#rest.subarray(size);
    return size;
  }

  readFileSync(): Buffer {
    return this.#take('readFileSync');
  }

  /** Gives a piece to the stream. */
  give({ bytes, isEnd }: InputPiece): void {
    const stream = this.#stream;
    if (!stream) return;
    if (bytes !== '') this.#pieces--;
    stream.resource.runInAsyncScope(() => stream.give(isEnd ? null : Buffer.from(bytes, 'base64')));
  }

  #take(by: SyncInput): Buffer {
    this.changes++;
    const piece = this.#synchronous[this.#nextSync];
    if (piece?.by !== by) {
      const next = piece ? `, where the recorded program went on by ${piece.by}` : ', of which no more is on record';
      this.#unknown(`the program reads standard input by ${by}${next}`);
      return Buffer.alloc(0);
    }
    this.#nextSync++;
    if (piece.errorCode !== undefined) throw systemError(piece.errorCode);
    return Buffer.from(piece.bytes, 'base64');
  }
}

/** As the platform says it. */
function systemError(code: string): Error {
  const number = Object.entries(constants.errno).find(([name]) => name === code)?.[1] ?? 0;
  const [, words = ''] = getSystemErrorMap().get(-number) ?? [];
  return Object.assign(new Error(`${code}: ${words}, read`), { errno: -number, code, syscall: 'read' });
}
