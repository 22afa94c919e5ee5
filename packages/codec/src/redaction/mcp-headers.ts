/** The `headers` of an MCP tool: whatever their names, their values go to the tool's server and are credentials. */
import { concatBytes, utf8, utf8Text } from '../bytes.ts';
import { CONTEXT_BYTES, type Edit, HELD_VALUE_MAX_BYTES, type Pending } from './finder.ts';
import type { JsonKey } from './json-keys.ts';
import { backslashesBefore, isSpace, QUOTE, quoteDepth, stringEnd, unescape } from './json-text.ts';
import { isMasked, type TokenBook } from './tokens.ts';
import { valueToken } from './values.ts';

const OPEN = new Set([0x7b, 0x5b]);
const CLOSE = new Set([0x7d, 0x5d]);
const COLON = 0x3a;
/** Any of these as a member's name or value makes the object around an MCP tool. */
const MARKS = ['server_url', 'server_label', 'serverUrl', 'connector_id', 'mcp'].map(utf8);

/** Bytes that looking around `headers` may cost in one body; real ones need a few hundred each. */
const WORK_MAX_BYTES: number = 32 * 1024 * 1024;

/** Decides on `headers` objects and replaces the strings in those of MCP tools. */
export class McpHeaders {
  readonly #tokens: TokenBook;
  #work = 0;

  constructor(tokens: TokenBook) {
    this.#tokens = tokens;
  }

  /**
   * Looks at a `headers` member with an object as value. Returns `more` when bytes are missing, else where the search
   * for members goes on.
   */
  look(pending: Pending, key: JsonKey, brace: number, edits: Edit[]): number | 'more' {
    const { bytes, final } = pending;
    if (this.#work > WORK_MAX_BYTES) return brace + 1;
    const size = Math.min(pending.size, brace + HELD_VALUE_MAX_BYTES);
    const enough = final || size < pending.size;
    const { end } = lookForward(bytes, brace + 1, size, key.depth);
    if (end === -1 && !enough) return 'more';
    const behind = end === -1 ? size : end + 1;
    this.#work += behind - brace + CONTEXT_BYTES;
    let isMcp = isMarkedBefore(pending, key);
    if (!isMcp) {
      this.#work += size - behind;
      const rest = lookForward(bytes, behind, size, key.depth);
      if (rest.end === -1 && !rest.marked && !enough) return 'more';
      isMcp = rest.marked;
    }
    if (!isMcp) return brace + 1;
    this.#replaceStrings(bytes, brace + 1, behind, key.depth, edits);
    return behind;
  }

  #replaceStrings(bytes: Uint8Array, from: number, to: number, depth: number, edits: Edit[]): void {
    let name = 'headers';
    for (let at = from; at < to; at++) {
      if (bytes[at] !== QUOTE || quoteDepth(backslashesBefore(bytes, at)) !== depth) continue;
      const found = stringEnd(bytes, at + 1, to, depth);
      const end = 'end' in found ? found.end : to;
      const value = unescape(utf8Text(bytes.subarray(at + 1, end)) ?? '', depth);
      let next = end + 2 ** depth;
      while (next < to && isSpace(bytes[next])) next++;
      if (bytes[next] === COLON) name = value;
      else if (value !== '' && !isMasked(value)) {
        const { scheme, token } = valueToken(this.#tokens, name, value);
        if (token !== undefined) edits.push({ start: at + 1 + scheme.length, end, token });
      }
      at = end + 2 ** depth - 1;
    }
  }
}

/** What a look at the members of one object tells. */
interface Look {
  /** Position of the brace that ends it, -1 if not seen. */
  end: number;
  /** One of its own members says that it is an MCP tool. */
  marked: boolean;
}

/** Looks forward to the brace that closes what is open at `from`; what is nested in it is passed over. */
function lookForward(bytes: Uint8Array, from: number, size: number, depth: number): Look {
  let nesting = 0;
  let marked = false;
  for (let at = from; at < size; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) {
      // The text around ended: what was open is cut off.
      if (quoteDepth(backslashesBefore(bytes, at)) < depth) return { end: at, marked };
      const string = stringEnd(bytes, at + 1, size, depth);
      if ('searched' in string) break;
      if (nesting === 0) marked ||= isMark(bytes, at + 1, string.end);
      at = string.end + 2 ** depth - 1;
    } else if (OPEN.has(byte)) nesting++;
    else if (CLOSE.has(byte) && nesting-- === 0) return { end: at, marked };
  }
  return { end: -1, marked };
}

/** Whether a member before a key, in the same object, marks an MCP tool. */
function isMarkedBefore(pending: Pending, key: JsonKey): boolean {
  const own = pending.bytes.subarray(Math.max(0, key.start - CONTEXT_BYTES), key.start);
  const bytes = own.length < CONTEXT_BYTES ? concatBytes([pending.context(), own]) : own;
  let nesting = 0;
  let stringEndsAt = -1;
  for (let at = bytes.length - 1; at >= 0; at--) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) {
      const backslashes = backslashesBefore(bytes, at);
      const depth = quoteDepth(backslashes);
      if (depth < key.depth) return false;
      if (depth > key.depth) continue;
      if (stringEndsAt === -1) stringEndsAt = at - backslashes;
      else {
        if (nesting === 0 && isMark(bytes, at + 1, stringEndsAt)) return true;
        stringEndsAt = -1;
      }
    } else if (stringEndsAt !== -1) continue;
    else if (CLOSE.has(byte)) nesting++;
    else if (OPEN.has(byte) && nesting-- === 0) return false;
  }
  return false;
}

function isMark(bytes: Uint8Array, from: number, to: number): boolean {
  return MARKS.some((mark) => mark.length === to - from && mark.every((byte, i) => bytes[from + i] === byte));
}
