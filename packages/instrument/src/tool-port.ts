/** Between wrapped tools and who stands behind them in a run: its recording, or its replay. */

/** How a tool's run ended. */
export type ToolOutcome = { isAsync: boolean } & (
  | { kind: 'returned'; value: unknown }
  | { kind: 'threw'; error: unknown }
  /** It gave something that is not looked at, since that would use it up. */
  | { kind: 'other' }
);

/** A run that has begun. */
export interface ToolRun {
  /** Runs the function in its place. */
  within<T>(work: () => T): T;
  ended(outcome: ToolOutcome): void;
  /** The function is not run: this gives what it gave, or throws what it threw. */
  serve?: () => unknown;
}

/** Told of each run. No member throws. */
export interface ToolPort {
  /** `frameId`: that of the tool's frame in the scopes of what is made within. */
  start(name: string, frameId: string, args: readonly unknown[]): ToolRun;
}
