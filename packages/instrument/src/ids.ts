/** Random trace and span ids: lower-case hex, never all zero. */

function randomHex(sizeBytes: number): string {
  // Loaded when first needed: the preload must be cheap to start.
  const { randomBytes } = process.getBuiltinModule('node:crypto');
  const id = randomBytes(sizeBytes).toString('hex');
  return /^0+$/.test(id) ? randomHex(sizeBytes) : id;
}

/** A new trace id, 32 hex digits. */
export function randomTraceId(): string {
  return randomHex(16);
}

/** A new span id, 16 hex digits. */
export function randomSpanId(): string {
  return randomHex(8);
}
