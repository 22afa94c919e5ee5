/** Headers for a trace backend, as the OpenTelemetry variables write headers: `name=value` pairs with commas between. */

/** RFC 9110, token. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Names and values of headers. Values are secrets: they never go into a message. */
export interface HeaderFields {
  readonly [name: string]: string;
}

/** Whether a name can stand in a request. */
export function isHeaderName(name: string): boolean {
  return HEADER_NAME.test(name);
}

/** Whether a value can stand in a request: one line of Latin-1. */
export function isHeaderValue(value: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(value);
}

/** Parses `name=value,name=value`, values percent-decoded; what is no pair is named by its place, never by its text. */
export function parseHeaderPairs(text: string): { headers: HeaderFields; problems: string[] } {
  const headers: { [name: string]: string } = {};
  const problems: string[] = [];
  for (const [i, pair] of text.split(',').entries()) {
    if (pair.trim() === '') continue;
    const at = pair.indexOf('=');
    const name = pair.slice(0, Math.max(at, 0)).trim();
    const value = decoded(pair.slice(at + 1).trim());
    if (at < 0 || !isHeaderName(name)) problems.push(`pair ${i + 1} is not name=value`);
    else if (value === undefined || !isHeaderValue(value))
      problems.push(`the value of ${name} cannot stand in a header`);
    else headers[name] = value;
  }
  return { headers, problems };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
