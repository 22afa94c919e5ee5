/** Bounds of an archiver. */
import type { QuarantineLimits } from './quarantine.ts';

const MIB = 1024 * 1024;

/** Everything that is bounded. */
export interface ArchiverLimits {
  /** Request bodies, unpacking, checking and joining together. */
  memoryBytes: number;
  /** One request's body, as sent and unpacked. */
  requestBytes: number;
  connections: number;
  /** Writes to the store at once. */
  writes: number;
  /** For a request to come in whole. */
  requestTimeoutMs: number;
  /** For one write to the store. */
  storeTimeoutMs: number;
  /** For requests that are under way when the archiver stops. */
  drainMs: number;
  quarantine: QuarantineLimits;
}

/** What holds where nothing is said. */
export const DEFAULT_LIMITS: ArchiverLimits = {
  memoryBytes: 256 * MIB,
  requestBytes: 64 * MIB,
  connections: 1024,
  writes: 16,
  requestTimeoutMs: 60_000,
  storeTimeoutMs: 30_000,
  drainMs: 20_000,
  quarantine: { bytesPerMinute: 64 * MIB, objectsPerMinute: 600 },
};

/** Bytes by what they are for. One never waits for what another holds. */
export interface MemoryShares {
  requests: number;
  checks: number;
  joins: number;
  index: number;
}

/** How the memory is shared out. */
export function memoryShares(memoryBytes: number): MemoryShares {
  const sixteenth = Math.floor(memoryBytes / 16);
  return { requests: 5 * sixteenth, checks: 8 * sixteenth, joins: 2 * sixteenth, index: sixteenth };
}
