/** Ids of traces and spans as the backends write them: hex, hex without its leading zeros, base64. */

/** A trace id as 32 lower-case hex digits. */
export function traceIdOf(value: unknown): string | undefined {
  return idOf(value, 32);
}

/** A span id as 16 lower-case hex digits. */
export function spanIdOf(value: unknown): string | undefined {
  return idOf(value, 16);
}

/** A trace id as a person or a URL writes it: leading zeros may be missing. */
export function paddedTraceId(text: string): string | undefined {
  return /^[0-9a-f]{1,32}$/i.test(text) ? nonZero(text.toLowerCase().padStart(32, '0')) : undefined;
}

function idOf(value: unknown, digits: number): string | undefined {
  if (typeof value !== 'string') return undefined;
  if (value.length <= digits && /^[0-9a-f]+$/i.test(value)) return nonZero(value.toLowerCase().padStart(digits, '0'));
  // Base64 of 8 or 16 bytes always ends in padding, so it is never taken for hex.
  if (!/^[A-Za-z0-9+/_-]{11}=$|^[A-Za-z0-9+/_-]{22}==$/.test(value)) return undefined;
  const hex = Buffer.from(value, 'base64').toString('hex');
  return hex.length <= digits ? nonZero(hex.padStart(digits, '0')) : undefined;
}

function nonZero(id: string): string | undefined {
  return /[^0]/.test(id) ? id : undefined;
}
