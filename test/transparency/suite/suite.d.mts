/** How a row went under one version of Node.js. */
export interface Cell {
  result: 'equal' | 'named' | 'failed' | 'skipped';
  failures: string[];
  /** Deviations that the case declares, or why it is not for this version. */
  named: string[];
  milliseconds?: number;
}

export interface SuiteResult {
  versions: string[];
  rows: { id: string; group: string; cells: Cell[] }[];
}

export interface SuiteOptions {
  /** Absolute paths of Node.js binaries: a column each. */
  nodes: string[];
  /** An expression that the names of rows match. */
  only?: string;
  /** Only the cases that stand for the others. */
  sample?: boolean;
  /** The whole gigabyte. */
  whole?: boolean;
  jobs?: number;
  onRow?: (id: string, version: string, cell: Cell) => void;
}

/** Runs the suite. */
export function runSuite(options: SuiteOptions): Promise<SuiteResult>;

/** Version of a Node.js binary. */
export function versionOf(node: string): string;
