export interface DeathSums {
  runs: number;
  /** Requests that the provider had seen complete. */
  seen: number;
  recorded: number;
  /** Calls that their program had seen end more than one turn before. */
  ended: number;
  partial: number;
  spans: number;
  /** Calls with a span that came twice. */
  doubled: number;
  torn: number;
}
export function runDeaths(options: {
  kind: 'kill' | 'exit';
  runs: number;
  lanes?: number;
  onBatch?: (sums: DeathSums, wrong: readonly string[]) => void;
}): Promise<{ sums: DeathSums; wrong: string[] }>;
