/** A planted secret: `kind` and its details say where it stands. */
export interface Placement {
  n: number;
  kind: string;
  value: string;
  env?: string;
  [detail: string]: unknown;
}

export const REDACT_PATTERN: string;
export function makePlacements(): Placement[];
export function encodedForm(value: string, form: string): string;
export function tracesOf(value: string): string[];
