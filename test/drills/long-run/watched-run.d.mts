/** What was measured after so many calls. */
export interface LongRunPoint {
  calls: number;
  seconds: number;
  heapUsed: number;
  heldBytes: number;
  files: number;
  diskBytes: number;
}

/** Runs calls through a recorder in a process of its own; `wrong` says what grew. */
export function runLong(options: {
  calls: number;
  every: number;
  dirBytes: number;
  onPoint?(point: LongRunPoint): void;
}): Promise<{ points: LongRunPoint[]; end: { calls: number; open: number } | undefined; wrong: string[] }>;
