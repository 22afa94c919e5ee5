/** What `orangebox run` wants to know when the program ends; written only where it asked for it. */
import type { HostCounts } from './host-counts.ts';

/** Content of the report file: one JSON object a line, one line per thread that ended. */
export interface RunReport {
  /** Requests recorded. */
  recorded: number;
  /** Hosts of unrecognised requests that may be LLM traffic. */
  hosts: { host: string; count: number }[];
}

/** Appends the report at exit; the result undoes it. */
export function installRunReport(
  file: string,
  source: { readonly recorded: number; readonly hosts: HostCounts },
  fault: (place: string, error: unknown) => void,
): () => void {
  const onExit = (): void => {
    try {
      const report: RunReport = { recorded: source.recorded, hosts: source.hosts.list() };
      // Child processes and threads report to the same file.
      process.getBuiltinModule('node:fs').appendFileSync(file, `${JSON.stringify(report)}\n`);
    } catch (error) {
      fault('writing the run report', error);
    }
  };
  process.on('exit', onExit);
  return () => process.removeListener('exit', onExit);
}
