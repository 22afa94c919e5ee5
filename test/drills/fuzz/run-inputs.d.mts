/** How inputs of one kind are made and checked. */
export interface InputKind<T> {
  make(seed: number, number: number): T;
  check(input: T, number: number): void | Promise<void>;
  sizeOf(input: T): number;
  toFile(input: T): Uint8Array;
  ofFile(bytes: Uint8Array): T;
  extension: string;
}

export const KINDS: { segment: InputKind<Uint8Array>; body: InputKind<object> };
/** Checks one input; gives what is wrong with it, if anything, and how long it took. */
export function checkInput<T>(
  kind: InputKind<T>,
  input: T,
  number: number,
  maxMs?: number,
): Promise<{ tookMs: number; wrong: string | undefined }>;
/** Runs the inputs `from`, `from + step`, … below `to`. */
export function runInputs(options: {
  kindName: 'segment' | 'body';
  seed: number;
  from: number;
  to: number;
  step?: number;
  before?(number: number): void;
  failed(number: number, input: unknown, wrong: string): void;
}): Promise<{ count: number; bytes: number; slowestMs: number; slowest: number }>;
