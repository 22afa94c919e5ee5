import type { SuiteResult } from './suite.mjs';

/** The table as text: `=` equal, `named` equal but for what is named below, `-` not for this version. */
export function formatTable(result: SuiteResult): string;

/** How many cells passed, failed and were not for their version. */
export function countCells(result: SuiteResult): { passed: number; failed: number; skipped: number };
