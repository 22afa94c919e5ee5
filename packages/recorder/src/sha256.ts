/** SHA-256 of the platform, as the codec wants it. */
import { hash } from 'node:crypto';

/** Hex SHA-256. */
export function sha256Hex(data: Uint8Array | string): string {
  return hash('sha256', data, 'hex');
}
