/** What must be known of sessions while calls begin: their next number, and the newest trace of declared ones. */

/** Sessions beyond this number are forgotten, oldest first. */
const MAX_SESSIONS = 10_000;

/** Counters of the sessions of this process. */
export class SessionCounts {
  readonly #counts: Map<string, number> = new Map();
  readonly #traces: Map<string, string> = new Map();

  /** Number of the newest call of a session, 0 before the first: the place of a tool that no call asked for. */
  newestSeq(sessionId: string): number {
    return Math.max(0, (this.#counts.get(sessionId) ?? 0) - 1);
  }

  /** The next number in a session. */
  nextSeq(sessionId: string): number {
    const seq = this.#counts.get(sessionId) ?? 0;
    this.#counts.delete(sessionId);
    this.#counts.set(sessionId, seq + 1);
    forgetOldest(this.#counts, MAX_SESSIONS);
    return seq;
  }

  /** A call of a declared session began; its trace stands for the session's until one is known. */
  begun(sessionId: string, traceId: string): void {
    if (!this.#traces.has(sessionId)) this.settled(sessionId, traceId);
  }

  /** The trace of a declared session's newest call is final. */
  settled(sessionId: string, traceId: string): void {
    this.#traces.set(sessionId, traceId);
    forgetOldest(this.#traces, MAX_SESSIONS);
  }

  /** Trace of the newest call of a declared session. */
  traceOf(sessionId: string): string | undefined {
    return this.#traces.get(sessionId);
  }
}

/** Keeps a map that is used as a queue below a size. */
export function forgetOldest(map: Map<string, unknown>, maxSize: number): void {
  if (map.size <= maxSize) return;
  for (const key of map.keys()) {
    map.delete(key);
    return;
  }
}
