/** Outcome of one check of `orangebox doctor`. */
export interface Check {
  name: string;
  result: 'ok' | 'warning' | 'problem';
  message: string;
  /** What to do. */
  hint?: string;
}
