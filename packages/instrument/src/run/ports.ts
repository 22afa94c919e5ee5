/** Between the hooks in the platform and who stands behind them: the recording of a run, or its replay. */
import type { TimerKind } from '@orangebox/schema';

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

/** Takes a hook out again. */
export type Undo = () => void;
