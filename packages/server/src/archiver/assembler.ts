/**
 * Sets of parts that have become complete are joined and verified, one after the other and beside the answers: the digest
 * of a snapshot in several parts is known only when all are there, and its index row too.
 */
import { type IndexRow, PART_OBJECT_PATTERN } from '@orangebox/schema';
import type { ArchiverLog } from './log.ts';
import type { ArchiveBucket } from './measured-bucket.ts';
import type { ArchiverMetrics } from './metrics.ts';
import { type CheckedPart, PARTS_MAX, PayloadFault, sha256Of } from './payload.ts';
import type { Quarantine } from './quarantine.ts';
import { type Checks, verifyPayload } from './verify.ts';

/** Looks at sets of parts. */
export interface Assembler {
  readonly pending: number;
  /** A part was stored: perhaps its set is complete. */
  offer(part: CheckedPart): void;
  /** Resolves when nothing waits any more. */
  idle(): Promise<void>;
}

/** What an assembler works with. */
export interface AssemblerHost {
  bucket: ArchiveBucket;
  checks: Checks;
  quarantine: Quarantine;
  metrics: ArchiverMetrics;
  log: ArchiverLog;
  /** Largest sum of parts that is joined here. */
  joinedMaxBytes: number;
  verified(row: IndexRow): void;
}

/** Sets that may wait; more are left to `--reindex`. */
const WAITING_MAX = 1000;

type Claims = Omit<CheckedPart, 'bytes' | 'index' | 'partSha256'>;

/** Makes an assembler. */
export function createAssembler(host: AssemblerHost): Assembler {
  const waiting = new Map<string, Claims>();
  let running: Promise<void> | undefined;
  const run = async (): Promise<void> => {
    for (;;) {
      const next = waiting.entries().next();
      if (next.done === true) break;
      const [name, claims] = next.value;
      waiting.delete(name);
      await assemble(claims, host);
    }
    running = undefined;
  };
  return {
    get pending() {
      return waiting.size + (running ? 1 : 0);
    },
    offer({ key, count, payloadSha256, digest }) {
      const name = `${key}/${payloadSha256}/${count}`;
      if (!waiting.has(name) && waiting.size >= WAITING_MAX) {
        host.metrics.assembled('dropped');
        host.log.warn('assembly_dropped', { key });
        return;
      }
      waiting.set(name, { key, count, payloadSha256, digest });
      running ??= run();
    },
    async idle() {
      await running;
    },
  };
}

async function assemble(claims: Claims, host: AssemblerHost): Promise<void> {
  const { metrics, log, quarantine } = host;
  try {
    const names = await completeSet(claims, host);
    if (names === undefined) return;
    const joined = await join(names, claims, host);
    const verified = joined && (await verifyPayload(joined, claims, host.checks));
    if (verified === undefined) {
      metrics.assembled('too_large');
      log.warn('assembly_too_large', { key: claims.key });
      return;
    }
    metrics.assembled('verified');
    if (verified.row) host.verified(verified.row);
  } catch (error) {
    if (!(error instanceof PayloadFault)) {
      // The parts are stored; what is missing is the row, which a reindex makes.
      metrics.assembled('store_failed');
      return;
    }
    metrics.assembled('mismatch');
    log.warn('assembly_mismatch', { key: claims.key, reason: error.reason });
    await quarantine.note(claims, error).catch(() => undefined);
  }
}

/** Names and sizes of the parts in order; undefined while some are missing. */
async function completeSet(
  claims: Claims,
  host: AssemblerHost,
): Promise<{ name: string; sizeBytes: number }[] | undefined> {
  const { key, count, payloadSha256 } = claims;
  const found = new Map<number, { name: string; sizeBytes: number }>();
  const prefix = `${key}/part-${payloadSha256.slice(0, 16)}-`;
  for (const { name, sizeBytes } of await host.bucket.list(prefix, 2 * PARTS_MAX)) {
    const match = PART_OBJECT_PATTERN.exec(name.slice(key.length + 1));
    if (match && Number(match[3]) === count && Number(match[2]) < count)
      found.set(Number(match[2]), { name, sizeBytes });
  }
  return found.size < count ? undefined : [...found].sort(([a], [b]) => a - b).map(([, object]) => object);
}

/** The gzip; undefined when it is too large to be joined here. */
async function join(
  parts: readonly { name: string; sizeBytes: number }[],
  claims: Claims,
  host: AssemblerHost,
): Promise<Uint8Array | undefined> {
  const total = parts.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  if (total > host.joinedMaxBytes) return undefined;
  const joined = Buffer.allocUnsafeSlow(total);
  let size = 0;
  for (const { name, sizeBytes } of parts) {
    const bytes = await host.bucket.read(name, sizeBytes);
    if (bytes?.length !== sizeBytes) throw new PayloadFault('assembly', 'a part changed while it was read');
    joined.set(bytes, size);
    size += sizeBytes;
  }
  if ((await sha256Of(joined)) !== claims.payloadSha256) {
    throw new PayloadFault('assembly', 'the parts do not join to the payload that they state');
  }
  return joined;
}
