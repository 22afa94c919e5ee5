/** Forms that values of environment variables have. */

const MIB = 1024 * 1024;

/** A size: a number with an optional unit, a power of 1024. */
export function parseBytes(raw: string): number | undefined {
  const m = /^(\d+(?:\.\d+)?)\s*(k|m|g)?(?:i?b)?$/i.exec(raw);
  if (!m) return undefined;
  const unit = { k: 1024, m: MIB, g: 1024 * MIB }[(m[2] ?? '').toLowerCase()] ?? 1;
  const value = Math.floor(Number(m[1]) * unit);
  return Number.isSafeInteger(value) ? value : undefined;
}

/** A whole number of at most nine digits. */
export function parseWhole(raw: string): number | undefined {
  return /^\d{1,9}$/.test(raw) ? Number(raw) : undefined;
}

/** A whole number above zero. */
export function parsePositive(raw: string): number | undefined {
  return parseWhole(raw) || undefined;
}

/** The form of `OTEL_EXPORTER_OTLP_HEADERS`: `name=value` pairs, comma-separated, percent-encoded. */
export function parsePairs(raw: string): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (const part of raw.split(',')) {
    const at = part.indexOf('=');
    const name = part.slice(0, Math.max(at, 0)).trim();
    if (name !== '') pairs[name] = percentDecode(part.slice(at + 1).trim());
  }
  return pairs;
}

function percentDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** `true` of earlier conventions and the span modes of the current ones. */
export function isCaptureOn(raw: string | undefined): boolean {
  return raw !== undefined && ['true', '1', 'span_only', 'span_and_event'].includes(raw.toLowerCase());
}
