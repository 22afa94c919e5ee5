/** Reads what the threads of a replayed process said. */
import type { ProcessReport } from './process-report.ts';

/** The reports, main thread first. A line that is none is passed over: the process may have died while it wrote. */
export function parseReports(text: string): ProcessReport[] {
  const reports: ProcessReport[] = [];
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue;
    try {
      const report = JSON.parse(line) as Partial<ProcessReport> | null;
      if (typeof report?.threadId === 'number' && report.rungs && report.draws) reports.push(report as ProcessReport);
    } catch {
      // A torn line.
    }
  }
  return reports.sort((a, b) => a.threadId - b.threadId);
}
