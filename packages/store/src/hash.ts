/** SHA-256 as codec wants it. */
import { createHash } from 'node:crypto';

/** Hex SHA-256. */
export function sha256(data: Uint8Array | string): string {
  return createHash('sha256').update(data).digest('hex');
}
