/** Credential members of JSON in a body, at any depth of JSON texts in JSON strings. */
import { utf8Text } from '../bytes.ts';
import { type Edit, type Finder, HELD_VALUE_MAX_BYTES, type Pending } from './finder.ts';
import { cutKeyAt, GAP_MAX_BYTES, type JsonKey, keyBefore } from './json-keys.ts';
import { BACKSLASH, backslashesBefore, isSpace, QUOTE, quoteDepth, stringEnd, unescape } from './json-text.ts';
import { McpHeaders } from './mcp-headers.ts';
import { fieldVerdict, looksLikeSecret, type NameVerdict } from './names.ts';
import { isMasked, type TokenBook } from './tokens.ts';
import { valueToken } from './values.ts';

const COLON = 0x3a;
const OPEN_BRACE = 0x7b;

/** A credential's value whose end is not seen yet. */
interface OpenValue {
  start: number;
  name: string;
  verdict: NameVerdict;
  depth: number;
  /** Searched up to here. */
  searched: number;
  /** Its beginning was replaced and finished already; what still comes of it is dropped. */
  swallowing: boolean;
}

/** Finds `"api_key": "..."` and its like, and the `headers` of MCP tools. */
export class JsonFieldFinder implements Finder {
  readonly #tokens: TokenBook;
  readonly #mcp: McpHeaders;
  /** The next byte to look at for a colon. */
  #from = 0;
  #open: OpenValue | undefined;

  constructor(tokens: TokenBook) {
    this.#tokens = tokens;
    this.#mcp = new McpHeaders(tokens);
  }

  scan(pending: Pending, edits: Edit[]): number {
    const { size } = pending;
    const bytes = pending.bytes as ArrayLike<number> as number[];
    if (this.#open) {
      const undecided = this.#value(pending, this.#open, edits);
      if (undecided !== undefined) return undecided;
    }
    for (let at = colonFrom(pending.bytes, this.#from, size); at < size; at = colonFrom(pending.bytes, at + 1, size)) {
      const before = bytes[at - 1];
      if (before !== QUOTE && !isSpace(before)) continue;
      const key = keyBefore(pending.bytes, at);
      if (!key) continue;
      this.#from = at;
      const undecided = this.#member(pending, key, at, edits);
      if (undecided !== undefined) return undecided;
      at = Math.max(at, this.#from - 1);
    }
    this.#from = size;
    return pending.final ? size : cutKeyAt(pending.bytes, 0, size);
  }

  shift(sizeBytes: number): void {
    this.#from = Math.max(0, this.#from - sizeBytes);
    if (this.#open) {
      this.#open.start = Math.max(0, this.#open.start - sizeBytes);
      this.#open.searched = Math.max(0, this.#open.searched - sizeBytes);
    }
  }

  /** Looks at a member of a name of interest; returns where it begins if more bytes are needed. */
  #member(pending: Pending, key: JsonKey, colon: number, edits: Edit[]): number | undefined {
    const { bytes, size, final } = pending;
    const isHeaders = key.name.toLowerCase() === 'headers';
    const verdict = isHeaders ? 'no' : fieldVerdict(key.name);
    if (verdict === 'no' && !isHeaders) {
      this.#from = colon + 1;
      return undefined;
    }
    const limit = Math.min(size, colon + GAP_MAX_BYTES);
    let at = colon + 1;
    while (at < limit && isSpace(bytes[at])) at++;
    const valueAt = at;
    while (at < limit && bytes[at] === BACKSLASH) at++;
    if (at >= size && !final && size < colon + GAP_MAX_BYTES) return key.start;
    this.#from = colon + 1;
    if (isHeaders) {
      if (bytes[valueAt] !== OPEN_BRACE) return undefined;
      const answer = this.#mcp.look(pending, key, valueAt, edits);
      if (answer === 'more') {
        this.#from = colon;
        return key.start;
      }
      this.#from = answer;
      return undefined;
    }
    if (at >= size || bytes[at] !== QUOTE || quoteDepth(backslashesBefore(bytes, at)) !== key.depth) return undefined;
    const start = at + 1;
    this.#open = { start, name: key.name, verdict, depth: key.depth, searched: start, swallowing: false };
    return this.#value(pending, this.#open, edits);
  }

  /** Goes on to the end of a value; returns where it begins if more bytes are needed. */
  #value(pending: Pending, open: OpenValue, edits: Edit[]): number | undefined {
    const { bytes, size, final } = pending;
    const found = stringEnd(bytes, open.searched, size, open.depth);
    if ('end' in found || final) {
      const end = Math.max('end' in found ? found.end : size, open.start);
      this.#open = undefined;
      this.#from = end;
      if (open.swallowing) edits.push({ start: open.start, end, token: '' });
      else this.#replace(bytes, open, end, edits);
      return undefined;
    }
    open.searched = size;
    if (!open.swallowing && size - open.start <= HELD_VALUE_MAX_BYTES) return open.start;
    // Backslashes at the end may escape what comes: they stay until that is seen. Only their number modulo
    // 2^(depth + 1) tells (see json-text.ts), so a long row of them is not held.
    const upTo = Math.max(open.start, size - (backslashesBefore(bytes, size) % 2 ** (open.depth + 1)));
    const token = open.swallowing ? '' : this.#tokens.fresh(open.name.toLowerCase());
    open.swallowing = true;
    edits.push({ start: open.start, end: upTo, token });
    open.start = upTo;
    return upTo;
  }

  #replace(bytes: Uint8Array, open: OpenValue, end: number, edits: Edit[]): void {
    const raw = utf8Text(bytes.subarray(open.start, end));
    const value = raw === undefined ? undefined : unescape(raw, open.depth);
    if (value === undefined) {
      edits.push({ start: open.start, end, token: this.#tokens.fresh(open.name.toLowerCase()) });
      return;
    }
    if (value === '' || isMasked(value)) return;
    if (open.verdict === 'if_secret_like' && !looksLikeSecret(value)) return;
    const { scheme, token } = valueToken(this.#tokens, open.name, value);
    if (token === undefined) return;
    // The scheme (`Bearer `) has no character that JSON escapes, so it is as long in the text as in the value.
    edits.push({ start: open.start + scheme.length, end, token });
  }
}

/** Bytes that are looked at one by one before the platform is asked, which is faster over long texts only. */
const NEAR_BYTES = 64;

/** The next colon from a position on; `size` if there is none. */
function colonFrom(bytes: Uint8Array, from: number, size: number): number {
  const near = Math.min(size, from + NEAR_BYTES);
  for (let at = from; at < near; at++) if (bytes[at] === COLON) return at;
  if (near >= size) return size;
  const found = bytes.indexOf(COLON, near);
  return found < 0 || found > size ? size : found;
}
