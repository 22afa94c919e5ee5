/**
 * What fails verification is kept for whoever looks for the fault: the bytes as they came, and a document that says why.
 * Bounded per minute, so that a flood of nonsense cannot fill the store.
 */
import { QUARANTINE_PREFIX } from '@orangebox/schema';
import type { PayloadEvent } from '@orangebox/store';
import type { ArchiveBucket } from './measured-bucket.ts';
import { type CheckedPart, type PayloadFault, sha256Of } from './payload.ts';

/** Bounds of the quarantine, per minute and archiver. */
export interface QuarantineLimits {
  bytesPerMinute: number;
  objectsPerMinute: number;
}

/** The quarantine of one archiver. */
export interface Quarantine {
  /** Keeps an event's bytes and the reason; false when this minute's bound is reached. Rejects as the store does. */
  put(event: PayloadEvent, fault: PayloadFault): Promise<boolean>;
  /** Keeps a reason only, for parts that stay where they are. */
  note(part: Pick<CheckedPart, 'key' | 'digest' | 'payloadSha256' | 'count'>, fault: PayloadFault): Promise<boolean>;
}

/** Identifies the reason documents. */
const QUARANTINE_SCHEMA = 'orangebox.quarantine/1';
const CLAIM_MAX = 256;
const NOTE_BYTES = 1024;

/** Makes the quarantine. */
export function createQuarantine(
  bucket: ArchiveBucket,
  limits: QuarantineLimits,
  nowMs: () => number = Date.now,
): Quarantine {
  let minute = 0;
  let bytes = 0;
  let objects = 0;
  const admits = (sizeBytes: number): boolean => {
    const now = Math.floor(nowMs() / 60_000);
    if (now !== minute) [minute, bytes, objects] = [now, 0, 0];
    if (bytes + sizeBytes > limits.bytesPerMinute || objects >= limits.objectsPerMinute) return false;
    bytes += sizeBytes;
    objects += 1;
    return true;
  };
  const nameOf = (sha256: string): string => {
    const day = new Date(nowMs()).toISOString().slice(0, 10).replaceAll('-', '');
    return `${QUARANTINE_PREFIX}${day}/${sha256.slice(0, 32)}`;
  };
  const writeReason = (name: string, document: Record<string, unknown>): Promise<unknown> =>
    bucket.write(
      `${name}.json`,
      Buffer.from(
        `${JSON.stringify({ schema: QUARANTINE_SCHEMA, time: new Date(nowMs()).toISOString(), ...document })}\n`,
      ),
      true,
    );

  return {
    async put(event, fault) {
      const body = event.body ?? new Uint8Array();
      if (body.length === 0 || !admits(body.length + NOTE_BYTES)) return false;
      const name = nameOf(await sha256Of(body));
      await bucket.write(`${name}.bin`, body, true);
      await writeReason(name, {
        reason: fault.reason,
        message: fault.message,
        service: cut(event.service),
        sizeBytes: body.length,
        claimed: {
          key: cut(event.key),
          digest: cut(event.digest),
          encoding: cut(event.encoding),
          partIndex: event.part?.index,
          partCount: event.part?.count,
          partSha256: cut(event.partSha256),
          payloadSha256: cut(event.payloadSha256),
        },
      });
      return true;
    },
    async note(part, fault) {
      if (!admits(NOTE_BYTES)) return false;
      const { key, digest, payloadSha256, count: partCount } = part;
      await writeReason(nameOf(payloadSha256), {
        reason: fault.reason,
        message: fault.message,
        claimed: { key, digest, partCount, payloadSha256 },
      });
      return true;
    },
  };
}

function cut(text: string | undefined): string | undefined {
  return text === undefined || text.length <= CLAIM_MAX ? text : `${text.slice(0, CLAIM_MAX)}…`;
}
