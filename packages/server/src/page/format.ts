/** Numbers and times as a person reads them. */

/** `512 B`, `2.4 KiB`. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 10 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** `850 µs`, `12 ms`, `1.24 s`, `3 min 20 s`. */
export function formatNano(nano: bigint): string {
  const ms = Number(nano) / 1e6;
  if (ms < 1) return `${Math.round(ms * 1000)} µs`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** Time to the millisecond in UTC, `2026-03-01 14:05:09.123 UTC`. */
export function formatTime(unixNano: string): string {
  const ms = Number(BigInt(unixNano) / 1_000_000n);
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? unixNano : `${date.toISOString().replace('T', ' ').replace('Z', '')} UTC`;
}

/** Nanoseconds of a time span, never negative. */
export function durationOf(time: { startUnixNano: string; endUnixNano: string }): bigint {
  const nano = BigInt(time.endUnixNano) - BigInt(time.startUnixNano);
  return nano < 0n ? 0n : nano;
}

/** `1 call`, `2 calls`. */
export function plural(count: number, one: string, many: string = `${one}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;
}
