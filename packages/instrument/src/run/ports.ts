/** Between the hooks in the platform and who stands behind them: the recording of a run, or its replay. */
import type { ThreadEventKind, TimerKind } from '@orangebox/schema';

/** An outside value as the program sees it. */
export type Drawn = number | string | bigint | Uint8Array;

/** Gives outside values to the program. */
export interface DrawPort {
  /** The value for a caller; `real` asks the platform. */
  draw<T extends Drawn>(source: string, at: string, real: () => T): T;
}

/** A timer that the program makes. */
export interface TimerRequest {
  kind: TimerKind;
  delayMs: number;
  at: string;
  callback: (this: unknown) => void;
  /** Makes the platform's timer. */
  real: (callback: (this: unknown) => void) => object;
}

/** Has timers of the program fire. */
export interface TimerPort {
  /** The handle that the program gets. */
  make(request: TimerRequest): object;
  /** The program clears one, by its handle or its number; the platform is told afterwards. */
  clear(handle: unknown): void;
}

/** A child process that the program starts. */
export interface ChildStart {
  /** Base name. */
  file: string;
  /** Without the name of the program. */
  argv: string[];
  /** Relative to the working directory of the start. */
  cwd: string;
  /** Its output is the program's own. */
  inherits: { stdout: boolean; stderr: boolean };
  /** Outputs that come out of the program's own and do not come by us. */
  past: readonly ('stdout' | 'stderr')[];
  /** It has pipes beyond standard error. */
  hasMorePipes: boolean;
  pipes: { stdin: boolean; stdout: boolean; stderr: boolean };
  /** It has a channel for messages, as of `fork`. */
  hasMessages: boolean;
}

/** A child process that the program waits for. */
export interface SyncChildStart extends Pick<ChildStart, 'file' | 'argv' | 'cwd' | 'past' | 'hasMorePipes'> {
  input: Uint8Array;
}

/** What it left. */
export interface SyncChildResult {
  pid: number;
  status: number | null;
  signal: string | null;
  stdout: Uint8Array | null;
  stderr: Uint8Array | null;
  error?: Error;
}

/** Starts child processes, or gives those on record. */
export interface ChildPort {
  /** `child` is the program's object, without a process yet; `real` starts one for it. */
  spawn(child: object, start: ChildStart, real: () => unknown): unknown;
  runSync(start: SyncChildStart, real: () => SyncChildResult): SyncChildResult;
}

/** Gives the program what comes of other threads. */
export interface ThreadPort {
  /** Something came; `deliver` gives it to the program. `worker` as on record. */
  came(kind: ThreadEventKind, worker: number | undefined, deliver: () => void): void;
}

/** Has work done beside the program, and the program told. */
export interface WorkPort {
  /** The program begins work. The result is called when it is done, with what tells the program. */
  begin(kind: string): (deliver: () => void) => void;
  /** Work of which the program sees something before it is done; `run` begins it, and is told when it is. */
  around(kind: string, run: (finished: () => void) => void): void;
}

/** Functions that wait for standard input. */
export type SyncInput = 'readSync' | 'readFileSync';

/** Gives the program its standard input. */
export interface InputPort {
  /** The program asks for the stream for the first time; `real` makes the platform's. */
  open(real: () => unknown): unknown;
  /** Reads into `buffer`; `real` does so and gives the number of bytes. */
  readSync(buffer: Uint8Array, real: () => number): number;
  /** Reads all there is. */
  readFileSync(real: () => Buffer): Buffer;
}

/** Takes a hook out again. */
export type Undo = () => void;
