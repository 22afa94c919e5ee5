/** SHA-256 of the platform, as the codec wants it. */
import { createHash, hash } from 'node:crypto';
import type { RunningSha256 } from '@orangebox/codec';

/** Hex SHA-256. */
export function sha256Hex(data: Uint8Array | string): string {
  return hash('sha256', data, 'hex');
}

/** A SHA-256 that takes its bytes bit by bit. */
export function runningSha256(): RunningSha256 {
  const running = createHash('sha256');
  return { update: (bytes) => void running.update(bytes), hex: () => running.digest('hex') };
}
