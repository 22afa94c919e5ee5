/** Reads what the probes told. Written by processes of the program: parsed, not trusted. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AuditEvent, ProcessCost } from '../../audit-probe/plan.ts';

/** The events of one thread. */
export interface Observed {
  pid: number;
  threadId: number;
  node: string;
  argv: string[];
  /** The audit's own program. */
  seeds: boolean;
  events: AuditEvent[];
  cost?: ProcessCost;
}

/** Reads the event files of a directory; those of the seeds' own file join the seeds' process. */
export function readObservations(directory: string): Observed[] {
  const all = readdirSync(directory)
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => ({ name, events: parseEvents(readFileSync(join(directory, name), 'utf8')) }));
  const extra = all.find(({ name }) => name === 'seeds.jsonl')?.events ?? [];
  return all.flatMap(({ name, events }) => {
    const start = events.find((event) => event.t === 'start');
    if (!start || name === 'seeds.jsonl') return [];
    const cost = events.findLast((event) => event.t === 'cost')?.cost;
    const { pid, threadId, node, argv, seeds } = start;
    return [
      { pid, threadId, node, argv, seeds, events: [...events, ...(seeds ? extra : [])], ...(cost ? { cost } : {}) },
    ];
  });
}

function parseEvents(text: string): AuditEvent[] {
  return text.split('\n').flatMap((line) => {
    try {
      const value: unknown = JSON.parse(line);
      return typeof value === 'object' && value !== null && 't' in value && typeof value.t === 'string'
        ? [value as AuditEvent]
        : [];
    } catch {
      // The last line of a process that was killed.
      return [];
    }
  });
}
