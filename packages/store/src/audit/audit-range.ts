/** Which times belong to a comparison. */
import { unixMs } from '../filter.ts';

/** Spans are searched this much around the range: clocks differ, and a trace begins before its calls. */
export const AUDIT_MARGIN_MS: number = 15 * 60_000;

const DAY_MS = 86_400_000;

/** The times of one comparison. */
export class AuditRange {
  readonly sinceUnixMs: number;
  readonly untilUnixMs: number;
  readonly #recentFromUnixMs: number;

  constructor(times: { sinceUnixMs: number; untilUnixMs: number; nowMs: number; graceMs: number }) {
    this.sinceUnixMs = times.sinceUnixMs;
    this.untilUnixMs = times.untilUnixMs;
    this.#recentFromUnixMs = times.nowMs - times.graceMs;
  }

  /** Whether a call of this start is compared. */
  has(startUnixNano: string): boolean {
    const ms = unixMs(startUnixNano);
    return ms >= this.sinceUnixMs && ms < this.untilUnixMs;
  }

  /** Whether what ended then may still be on its way. */
  isRecent(endUnixNano: string): boolean {
    return unixMs(endUnixNano) > this.#recentFromUnixMs;
  }

  /** Objects come a little after their calls, and by the clock of the store. */
  hasWriting(modifiedUnixMs: number): boolean {
    return modifiedUnixMs >= this.sinceUnixMs && modifiedUnixMs < this.untilUnixMs + AUDIT_MARGIN_MS;
  }

  /** A call's objects are written after its start, so what was written before the range is not of it. */
  isAfterWriting(modifiedUnixMs: number): boolean {
    return modifiedUnixMs < this.sinceUnixMs - AUDIT_MARGIN_MS;
  }

  /** Its UTC days, `YYYYMMDD`. */
  days(): string[] {
    const days: string[] = [];
    for (let at = Math.floor(this.sinceUnixMs / DAY_MS) * DAY_MS; at < this.untilUnixMs; at += DAY_MS) {
      days.push(new Date(at).toISOString().slice(0, 10).replaceAll('-', ''));
    }
    return days;
  }
}
