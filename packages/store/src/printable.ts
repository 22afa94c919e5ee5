/** What a person typed, or a recording holds, in messages. */

/** A text in quotes without control characters, and not at any length. */
export function printable(text: string): string {
  const clean = text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '\u{fffd}');
  return JSON.stringify(clean.length > 120 ? `${clean.slice(0, 119)}…` : clean);
}

/** A URL in a message: user, password and parameters may be secrets. */
export function printableUrl(text: string): string {
  try {
    const url = new URL(text.trim());
    return printable(`${url.protocol}//${url.host}${url.pathname}`);
  } catch {
    return printable(text.replace(/\/\/[^/]*@/, '//'));
  }
}
