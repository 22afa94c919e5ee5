/** Numbers, times and sizes as a person reads them. */

/** Nanoseconds since the epoch as a Date. */
export function dateOf(unixNano: string): Date {
  return new Date(Number(BigInt(unixNano) / 1_000_000n));
}

/** How long ago, in the largest unit that says enough: `now`, `12s`, `5m`, `3h`, `4d`. */
export function formatAge(unixNano: string, nowMs: number): string {
  const seconds = Math.max(0, Math.floor((nowMs - dateOf(unixNano).getTime()) / 1000));
  if (seconds < 1) return 'now';
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86400)}d`;
}

/** A duration in milliseconds: `850µs`, `12ms`, `1.24s`, `3m 20s`. */
export function formatDuration(ms: number): string {
  if (ms < 1) return `${Math.round(ms * 1000)}µs`;
  if (ms < 1000) return `${Math.round(ms)}ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)}s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${seconds % 60}s`;
  return `${Math.floor(seconds / 3600)}h ${Math.floor((seconds % 3600) / 60)}m`;
}

/** Milliseconds between two nanosecond times. */
export function millisecondsBetween(startNano: string, endNano: string): number {
  return Number(BigInt(endNano) - BigInt(startNano)) / 1e6;
}

/** A count: `842`, `1.2k`, `34k`, `1.5M`. */
export function formatCount(count: number): string {
  if (count < 1000) return String(count);
  if (count < 999_500) return `${(count / 1000).toFixed(count < 9950 ? 1 : 0)}k`;
  return `${(count / 1e6).toFixed(1)}M`;
}

/** A size in bytes: `512 B`, `2.4 KiB`, `31 MiB`. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 || value >= 10 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** `1 call`, `2 calls`. */
export function plural(count: number, one: string, many: string = `${one}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;
}

/** Local date and time to the second, `2026-03-01 14:05:09`. */
export function formatTime(unixNano: string): string {
  const d = dateOf(unixNano);
  const two = (n: number): string => String(n).padStart(2, '0');
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}
