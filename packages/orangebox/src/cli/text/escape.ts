/**
 * Recorded text is hostile: written to a terminal as it is, it could move the cursor, rewrite what stands above,
 * set the clipboard or turn the reading direction. Everything that is printed passes through here.
 */

/**
 * Characters that steer a terminal or hide from the reader: C0 and C1 controls, DEL, bidirectional controls,
 * line separators, invisible marks, Unicode tags and lone surrogates. Tab and newline are decided by the caller;
 * joiners (U+200C, U+200D) stay, since scripts and emoji need them.
 */
const UNSAFE =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb]|\p{Surrogate}|[\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

/** A paragraph of text: newlines and tabs stay (a tab as two spaces, CRLF as newline), every other control is shown as an escape. */
export function escapeText(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(UNSAFE, (char) => (char === '\n' ? char : char === '\t' ? '  ' : visible(char)));
}

/** One line of text: newlines and tabs are shown as escapes too. */
export function escapeLine(text: string): string {
  return text.replace(UNSAFE, visible);
}

/** JSON text in which no character can steer a terminal; parses to the same value. */
export function safeJson(value: unknown, indent?: number): string {
  const text = jsonOf(value, indent) ?? 'null';
  return text.replace(UNSAFE, (char) => (char === '\n' ? char : utf16Escapes(char)));
}

/** What a recording gives may nest deeper than `JSON.stringify` can follow. */
function jsonOf(value: unknown, indent: number | undefined): string | undefined {
  try {
    return JSON.stringify(value, undefined, indent);
  } catch (error) {
    if (error instanceof RangeError) return '"(nested too deep to show)"';
    throw error;
  }
}

function visible(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  if (char === '\n') return '\\n';
  if (char === '\r') return '\\r';
  if (char === '\t') return '\\t';
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, '0')}`;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : utf16Escapes(char);
}

function utf16Escapes(char: string): string {
  let out = '';
  for (let i = 0; i < char.length; i++) out += `\\u${char.charCodeAt(i).toString(16).padStart(4, '0')}`;
  return out;
}
