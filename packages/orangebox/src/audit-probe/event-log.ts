/** Writes events down at once: a process that is killed has told what was seen until then. */
import { openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { AuditEvent } from './plan.ts';

/** Takes events; never throws. */
export type Tell = (event: AuditEvent) => void;

/** Equal events are told once, and no more than this many. */
const EVENTS_MAX = 20_000;

/** Opens the file of this thread. Called before anything is patched, so that its own writes are not seen. */
export function openEventLog(directory: string, name: string): Tell {
  const write = writeSync;
  const told = new Set<string>();
  let fd: number | undefined;
  try {
    fd = openSync(join(directory, `${name}.jsonl`), 'a', 0o600);
  } catch {
    // The parent misses this process' events and says so.
  }
  return (event) => {
    if (fd === undefined || told.size >= EVENTS_MAX) return;
    try {
      const line = JSON.stringify(event);
      if (told.has(line)) return;
      told.add(line);
      write(fd, `${line}\n`);
    } catch {
      // Nothing of the audit may disturb the program.
    }
  };
}
