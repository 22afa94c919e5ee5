/** Whether a process is still there: one of this machine and its namespace can be asked, others only be watched. */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { segmentHost } from '@orangebox/schema';
import { nowMs } from '../timers.ts';

/** A process of another host or namespace that shows no activity for this long is taken as ended. */
export const SILENT_MS = 120_000;
/** Clocks of hosts differ by less. What is further in the future was written under a clock that was wrong. */
const FUTURE_MS = 3600_000;
/** Start times are made from clock ticks and a boot time of whole seconds. */
const START_TOLERANCE_MS = 2000;

/** Linux: the namespace that process numbers of this process belong to; undefined elsewhere. */
export function ownPidNamespace(): string | undefined {
  try {
    return readlinkSync('/proc/self/ns/pid').slice(0, 100);
  } catch {
    return undefined;
  }
}

/** How long nobody has touched a file, as far as its time can be believed. */
export function silentSinceMs(modifiedMs: number): number {
  const silentMs = nowMs() - modifiedMs;
  return silentMs < -FUTURE_MS ? Number.POSITIVE_INFINITY : silentMs;
}

/** Whether a process number of that host and namespace means something here. */
export function isNear(host: string, pidNamespace: string | undefined): boolean {
  if (host !== segmentHost(hostname())) return false;
  const own = ownPidNamespace();
  return pidNamespace === undefined || own === undefined || pidNamespace === own;
}

/** Whether there is a process of this number in our namespace. */
export function isRunning(pid: number): boolean {
  if (pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Whether the process that began its records at `startUnixMs` still runs: a later process may have got its number. */
export function hasWriter(pid: number, startUnixMs: number): boolean {
  if (!isRunning(pid)) return false;
  const startedMs = processStartMs(pid);
  return startedMs === undefined || startedMs < startUnixMs + START_TOLERANCE_MS;
}

/** Whether it is this very process. */
export function isSameProcess(pid: number, startedMs: number | undefined): boolean {
  if (!isRunning(pid)) return false;
  const now = processStartMs(pid);
  return startedMs === undefined || now === undefined || Math.abs(now - startedMs) <= START_TOLERANCE_MS;
}

/** When a process of this machine started, where the platform tells (Linux). */
export function processStartMs(pid: number): number | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The command name may hold spaces and parentheses; the fields are counted after its end.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    // A zombie has ended: it waits for its parent only.
    if (fields[0] === 'Z' || fields[0] === 'X') return Number.POSITIVE_INFINITY;
    const bootS = Number(/^btime (\d+)$/m.exec(readFileSync('/proc/stat', 'latin1'))?.[1]);
    const startedMs = (bootS + Number(fields[19]) / 100) * 1000;
    return Number.isFinite(startedMs) ? startedMs : undefined;
  } catch {
    return undefined;
  }
}
