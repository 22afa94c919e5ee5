/** Credential fields of URL-encoded and multipart forms. */
import { utf8, utf8Text } from '../bytes.ts';
import { type Edit, type Finder, HELD_VALUE_MAX_BYTES, type Pending } from './finder.ts';
import { fieldVerdict, isCredentialParameter, looksLikeSecret } from './names.ts';
import { isMasked, type TokenBook } from './tokens.ts';

const AMPERSAND = 0x26;
const EQUALS = 0x3d;
const DASH = 0x2d;
/** Longest name of a form field, and longest head of a part, that is waited for. */
const NAME_MAX_BYTES = 128;
const HEAD_MAX_BYTES = 4096;
const PART_END = utf8('\r\n--');
const HEAD_END = utf8('\r\n\r\n');

type Mode = 'undecided' | 'urlencoded' | 'multipart' | 'other';

/**
 * Tells by its beginning whether a body is a form: `name=` with nothing before it that a form would have encoded, or
 * the `--` of a boundary.
 */
export class FormFieldFinder implements Finder {
  readonly #tokens: TokenBook;
  #mode: Mode = 'undecided';
  /** Beginning of the field or part that is looked at. */
  #from = 0;
  /** A value whose end is not seen is dropped up to it. */
  #swallowing = false;
  /** The field or part that goes on is of no interest. */
  #passing = false;

  constructor(tokens: TokenBook) {
    this.#tokens = tokens;
  }

  scan(pending: Pending, edits: Edit[]): number {
    if (this.#mode === 'undecided') this.#mode = modeOf(pending);
    switch (this.#mode) {
      case 'other':
        return pending.size;
      case 'urlencoded':
        return this.#urlencoded(pending, edits);
      case 'multipart':
        return this.#multipart(pending, edits);
      default:
        return pending.final ? pending.size : 0;
    }
  }

  shift(sizeBytes: number): void {
    this.#from = Math.max(0, this.#from - sizeBytes);
  }

  #urlencoded({ bytes, size, final }: Pending, edits: Edit[]): number {
    while (this.#from < size) {
      const end = indexOfByte(bytes, AMPERSAND, this.#from, size);
      const ended = end !== -1 || final;
      const upTo = end === -1 ? size : end;
      if (this.#swallowing) {
        edits.push({ start: this.#from, end: upTo, token: '' });
      } else if (!this.#passing) {
        const equals = indexOfByte(bytes, EQUALS, this.#from, Math.min(upTo, this.#from + NAME_MAX_BYTES));
        const name = equals === -1 ? '' : decoded(bytes.subarray(this.#from, equals));
        const isSecret = equals !== -1 && isCredentialParameter(name);
        if (isSecret && ended) this.#replace(bytes, equals + 1, upTo, name, edits);
        else if (isSecret && size - equals > HELD_VALUE_MAX_BYTES) {
          edits.push({ start: equals + 1, end: size, token: this.#tokens.fresh(name) });
          this.#swallowing = true;
        } else if (!ended && (isSecret || (equals === -1 && size - this.#from < NAME_MAX_BYTES))) return this.#from;
      }
      if (end === -1) {
        // The field goes on; whether it is dropped is settled.
        this.#passing = !this.#swallowing;
        this.#from = size;
        return size;
      }
      this.#swallowing = false;
      this.#passing = false;
      this.#from = end + 1;
    }
    return size;
  }

  #multipart({ bytes, size, final }: Pending, edits: Edit[]): number {
    for (;;) {
      if (this.#swallowing) {
        const end = indexOf(bytes, PART_END, this.#from, size);
        const upTo = end === -1 ? (final ? size : Math.max(this.#from, size - PART_END.length)) : end;
        edits.push({ start: this.#from, end: upTo, token: '' });
        this.#from = upTo;
        if (end === -1) return upTo;
        this.#swallowing = false;
      }
      if (this.#passing) {
        const end = indexOf(bytes, PART_END, this.#from, size);
        if (end === -1) return this.#waitForEnd(bytes, size, final);
        this.#passing = false;
        this.#from = end;
      }
      const head = indexOf(bytes, HEAD_END, this.#from, size);
      if (head === -1) return this.#headless(size, final);
      const name = partName(bytes.subarray(Math.max(this.#from, head - HEAD_MAX_BYTES), head));
      const start = head + HEAD_END.length;
      const verdict = name === undefined ? 'no' : fieldVerdict(name);
      const end = indexOf(bytes, PART_END, Math.max(head, start - 2), size);
      if (name !== undefined && verdict !== 'no') {
        if (end === -1 && !final && size - start <= HELD_VALUE_MAX_BYTES) return this.#from;
        const upTo = end === -1 ? size : Math.max(start, end);
        const value = utf8Text(bytes.subarray(start, upTo));
        if (end === -1 && !final) {
          edits.push({ start, end: upTo, token: this.#tokens.fresh(name) });
          this.#swallowing = true;
          this.#from = upTo;
          return upTo;
        }
        if (verdict === 'secret' || looksLikeSecret(value ?? '')) this.#replace(bytes, start, upTo, name, edits);
      }
      if (end === -1) {
        this.#passing = true;
        this.#from = start - 2;
        return this.#waitForEnd(bytes, size, final);
      }
      this.#from = Math.max(start, end);
    }
  }

  /** A part of no interest goes on: only a border that may have begun at the end is held. */
  #waitForEnd(bytes: Uint8Array, size: number, final: boolean): number {
    let kept = final ? 0 : Math.min(PART_END.length - 1, size - this.#from);
    while (kept > 0 && !PART_END.subarray(0, kept).every((byte, i) => bytes[size - kept + i] === byte)) kept--;
    this.#from = size - kept;
    return this.#from;
  }

  /** No whole head is to be seen: hold one that may be coming. */
  #headless(size: number, final: boolean): number {
    if (final || size - this.#from > HEAD_MAX_BYTES) {
      this.#from = Math.max(this.#from, size - HEAD_MAX_BYTES);
      return size;
    }
    return this.#from;
  }

  #replace(bytes: Uint8Array, start: number, end: number, name: string, edits: Edit[]): void {
    const value =
      this.#mode === 'urlencoded' ? decoded(bytes.subarray(start, end)) : utf8Text(bytes.subarray(start, end));
    if (value === '' || (value !== undefined && isMasked(value))) return;
    const plain = name.toLowerCase();
    const token = value === undefined ? this.#tokens.fresh(plain) : this.#tokens.token(plain, value);
    edits.push({ start, end, token });
  }
}

function modeOf({ bytes, size, final }: Pending): Mode {
  if (size === 0) return 'undecided';
  if (bytes[0] === DASH) {
    if (size === 1) return final ? 'other' : 'undecided';
    return bytes[1] === DASH ? 'multipart' : 'other';
  }
  for (let at = 0; at < size; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === EQUALS && at > 0) return 'urlencoded';
    if (!isFormNameByte(byte) || at >= NAME_MAX_BYTES) return 'other';
  }
  return final ? 'other' : 'undecided';
}

/** Letters, digits and `%+-._*[]`. */
function isFormNameByte(byte: number): boolean {
  const letter = byte | 0x20;
  return (
    (letter >= 0x61 && letter <= 0x7a) ||
    (byte >= 0x30 && byte <= 0x39) ||
    [0x25, 0x2b, 0x2d, 0x2e, 0x5f, 0x2a, 0x5b, 0x5d].includes(byte)
  );
}

function indexOfByte(bytes: Uint8Array, byte: number, from: number, to: number): number {
  const at = bytes.indexOf(byte, from);
  return at === -1 || at >= to ? -1 : at;
}

function indexOf(bytes: Uint8Array, wanted: Uint8Array, from: number, size: number): number {
  for (let at = from; at + wanted.length <= size; at++) {
    let i = 0;
    while (i < wanted.length && bytes[at + i] === wanted[i]) i++;
    if (i === wanted.length) return at;
  }
  return -1;
}

function decoded(bytes: Uint8Array): string {
  const text = utf8Text(bytes) ?? '';
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

/** The field name in a part's head. */
function partName(head: Uint8Array): string | undefined {
  const text = utf8Text(head);
  if (text === undefined) return undefined;
  return /(?:^|\n)content-disposition:[^\r\n]*?[;\s]name="?([^"\r\n;]+)/i.exec(text)?.[1];
}
