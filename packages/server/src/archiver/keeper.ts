/**
 * Puts checked parts under their key. Names are decided by content, so that any number of archivers may write the same
 * thing at once: what is there already is compared, never blindly replaced.
 */
import {
  type IndexRow,
  OrangeboxError,
  PART_OBJECT_PATTERN,
  partObjectName,
  SNAPSHOT_OBJECT_NAME,
} from '@orangebox/schema';
import type { ArchiveBucket } from './measured-bucket.ts';
import type { Room } from './memory.ts';
import type { KeptOutcome } from './metrics.ts';
import { type CheckedPart, PayloadFault, sha256Of } from './payload.ts';
import { type Checks, verifyPayload } from './verify.ts';

/** What a keeper works with. */
export interface KeeperHost {
  bucket: ArchiveBucket;
  checks: Checks;
  /** Places for looking at what stands under a name already. */
  looks: Room;
  /** Bytes of an object that may be read to compare it. */
  readMaxBytes: number;
  /**
   * A snapshot was verified and stands in the store. Also where it stood there before: whoever wrote it may have been killed
   * before it wrote the row, and a row that comes twice counts once.
   */
  stored(row: IndexRow): void;
  /** A payload was too large to be verified here. */
  unverified(part: CheckedPart): void;
  /** One of several parts was stored, or the last of them was there already. */
  partStored(part: CheckedPart): void;
}

/**
 * Stores a part.
 *
 * @throws PayloadFault what is in it is not what it says to be.
 * @throws OrangeboxError `OBX_STORE_*`: nothing can be said of it, try again.
 */
export async function keepPart(part: CheckedPart, host: KeeperHost): Promise<KeptOutcome> {
  if (part.count > 1) {
    const outcome = await writeObject(part, partName(part), host);
    // Of a set that is sent again the last one is enough to look at it once more.
    if (outcome !== 'duplicate' || part.index === part.count - 1) host.partStored(part);
    return outcome;
  }
  const verified = await verifyPayload(part.bytes, part, host.checks);
  if (verified === undefined) {
    host.unverified(part);
    return writeObject(part, partName(part), host);
  }
  const outcome = await writeObject(part, `${part.key}/${SNAPSHOT_OBJECT_NAME}`, host);
  if (outcome !== 'conflict' && verified.row) host.stored(verified.row);
  return outcome;
}

function partName(part: CheckedPart): string {
  return `${part.key}/${partObjectName(part.payloadSha256, part.index, part.count)}`;
}

async function writeObject(part: CheckedPart, name: string, host: KeeperHost): Promise<KeptOutcome> {
  if ((await host.bucket.write(name, part.bytes, true)) === 'written') return 'stored';
  return host.looks.run(1, () => judgeExisting(part, name, host));
}

/** Something stands under the name: the same, something else that is right, or something damaged. */
async function judgeExisting(part: CheckedPart, name: string, host: KeeperHost): Promise<KeptOutcome> {
  let existing: Uint8Array | undefined;
  try {
    existing = await host.bucket.read(name, host.readMaxBytes);
  } catch (error) {
    if (!(error instanceof OrangeboxError) || error.code !== 'OBX_SNAPSHOT_TOO_LARGE') throw error;
    return besideTooLarge(part, name, host);
  }
  if (existing !== undefined && isSame(existing, part.bytes)) return 'duplicate';
  if (existing === undefined || (await isDamaged(existing, part, name, host))) {
    await host.bucket.write(name, part.bytes, false);
    return existing === undefined ? 'stored' : 'repaired';
  }
  return 'conflict';
}

/** What is there cannot be looked at. A reader that finds it wrong looks for parts next. */
async function besideTooLarge(part: CheckedPart, name: string, host: KeeperHost): Promise<KeptOutcome> {
  if (PART_OBJECT_PATTERN.test(name.slice(part.key.length + 1))) throw conflictOfParts();
  return writeObject(part, partName(part), host);
}

async function isDamaged(existing: Uint8Array, part: CheckedPart, name: string, host: KeeperHost): Promise<boolean> {
  if (name.endsWith(`/${SNAPSHOT_OBJECT_NAME}`)) {
    try {
      await verifyPayload(existing, { key: part.key }, { ...host.checks, makesRows: false });
      return false;
    } catch (error) {
      if (error instanceof PayloadFault) return true;
      throw error;
    }
  }
  // Of one part alone the name tells its hash; of several only the whole can be judged.
  if (part.count > 1) throw conflictOfParts();
  return (await sha256Of(existing)) !== part.payloadSha256;
}

function conflictOfParts(): PayloadFault {
  return new PayloadFault('part_conflict', 'another part of the same payload and number is stored already');
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}
