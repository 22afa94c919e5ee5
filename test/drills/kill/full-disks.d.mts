export interface DiskSums {
  runs: number;
  calls: number;
  kept: number;
  unkept: number;
  /** Calls not kept by the recorder's own metric. */
  counted: number;
  torn: number;
}
export const canFillDisks: boolean;
export function runFullDisks(options: {
  runs: number;
  onRun?: (sums: DiskSums, wrong: readonly string[]) => void;
}): Promise<{ sums: DiskSums; wrong: string[] }>;
