/** What a program under `orangebox run` tells at its end, and what is kept of it for `orangebox` alone. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CommandContext } from './context.ts';
import { locate } from './locate.ts';

/** Requests recorded, and hosts that requests went to that were not recognised. */
export interface RunReport {
  recorded: number;
  /** Most requests first. */
  hosts: string[];
  /** Unix milliseconds. */
  endedAtMs?: number;
}

const LAST_RUN_FILE = 'last-run.json';
const MAX_BYTES = 256 * 1024;

/** A private temporary file that the processes of one run append to. */
export function makeReportFile(): { path: string; read: () => RunReport | undefined; remove: () => void } {
  const directory = mkdtempSync(join(tmpdir(), 'orangebox-run-'));
  const path = join(directory, 'report');
  return {
    path,
    read: () => parseReports(readSmall(path)),
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

/** Keeps the report in the directory of recordings; makes one only where there is something to tell. */
export function saveLastRun(context: CommandContext, report: RunReport): void {
  try {
    const { dir, exists } = locate(context);
    if (!exists) {
      if (report.hosts.length === 0) return;
      mkdirSync(dir, { recursive: true, mode: 0o700 });
      writeFileSync(join(dir, '.gitignore'), '*\n', { mode: 0o600 });
    }
    writeFileSync(join(dir, LAST_RUN_FILE), JSON.stringify({ ...report, endedAtMs: Date.now() }), { mode: 0o600 });
  } catch {
    // Only a convenience: the run itself must end as the program ended.
  }
}

/** The report of the last run; undefined when there is none. */
export function readLastRun(dir: string): RunReport | undefined {
  const text = readSmall(join(dir, LAST_RUN_FILE));
  return text === '' ? undefined : parseReports(text);
}

function readSmall(path: string): string {
  try {
    return statSync(path).size > MAX_BYTES ? '' : readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/**
 * One JSON object, or one a line where several processes and threads reported; anything else is passed over. Undefined
 * when nobody reported, as after a kill.
 */
export function parseReports(text: string): RunReport | undefined {
  let reports = 0;
  const sum: RunReport = { recorded: 0, hosts: [] };
  const hosts = new Set<string>();
  for (const line of text.split('\n')) {
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      continue;
    }
    if (typeof value !== 'object' || value === null) continue;
    if ('recorded' in value) reports++;
    if ('recorded' in value && typeof value.recorded === 'number') sum.recorded += value.recorded;
    if ('endedAtMs' in value && typeof value.endedAtMs === 'number') sum.endedAtMs = value.endedAtMs;
    if ('hosts' in value && typeof value.hosts === 'object' && value.hosts !== null) {
      const list: unknown[] = Array.isArray(value.hosts) ? value.hosts : [];
      for (const item of list) {
        const name: unknown = typeof item === 'object' && item !== null && 'host' in item ? item.host : item;
        if (typeof name === 'string') hosts.add(name.slice(0, 255));
      }
    }
  }
  if (reports === 0) return undefined;
  sum.hosts = [...hosts].slice(0, 50);
  return sum;
}
