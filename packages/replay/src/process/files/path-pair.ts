/** The working directory of a recorded run, and the one in which it is run again: each stands for the other. */
import { relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const PATH_MAX = 4096;
/**
 * A path begins where nothing of one stands before it: at a sign that is none of a path's, behind the slashes of a URL, an
 * escaped sign of JSON or of a URL, a colour, or the letter of an option.
 */
const BEGIN = /(?:(?<![\w./~-])|(?<=:\/\/|\\[nrtbf]|\[\d{0,3}m|%(?!2[fF])[0-9a-fA-F]{2}|(?:^|[\s"'])-[A-Za-z]))/.source;
/** And it ends where its last name does: `/app.` may end a sentence, `/app.git` and `/app-data` are others. */
const END = /(?![.-]{0,8}\w)/.source;
/** So many signs before and behind a path decide. */
const CONTEXT = 9;

/** Bytes of a stream with the live path replaced, also where it lies across two pieces. */
export interface MappedStream {
  /** What is sure by now. */
  push(bytes: Uint8Array): Uint8Array;
  /** What was held back; nothing more is expected. */
  rest(): Uint8Array;
}

/** Whether a recording may say that this was a working directory. */
export function isSoundDirectory(path: string): boolean {
  return path.length > 1 && path.length <= PATH_MAX && !path.includes('\0') && resolve(path) === path;
}

/** A written form of one directory, and what is put in its place. */
interface Form {
  from: string;
  to: string;
  pattern: RegExp;
}

/** Both directories, absolute. */
export class PathPair {
  readonly recorded: string;
  readonly live: string;
  /** As written in texts and in URLs. */
  readonly #toRecorded: readonly Form[];
  /** The same, each byte a character. */
  readonly #bytesToRecorded: readonly Form[];
  readonly #bytesToLive: readonly Form[];

  /** `isCopy`: the live one was made for the replay, and no text has it by chance. */
  constructor(recorded: string, live: string, isCopy = false) {
    this.recorded = recorded;
    this.live = live;
    const forms = new Map<string, string>([[live, recorded]]);
    for (const written of [(path: string) => pathToFileURL(path).pathname, encodeURIComponent]) {
      if (!forms.has(written(live))) forms.set(written(live), written(recorded));
    }
    const pairs = recorded === live ? [] : [...forms];
    this.#toRecorded = pairs.map(([from, to]) => formOf(from, to, isCopy));
    this.#bytesToRecorded = pairs.map(([from, to]) => formOf(latin(from), latin(to), isCopy));
    this.#bytesToLive = pairs.map(([to, from]) => formOf(latin(from), latin(to), false));
  }

  /** A text of the live program as the recorded one would have had it. */
  toRecorded(text: string): string {
    return replaced(text, this.#toRecorded);
  }

  /** The same of bytes; the same object where nothing is to be replaced. */
  bytesToRecorded(bytes: Uint8Array): Uint8Array {
    return bytesReplaced(bytes, this.#bytesToRecorded);
  }

  /** What is on record as the live program has to get it. */
  bytesToLive(bytes: Uint8Array): Uint8Array {
    return bytesReplaced(bytes, this.#bytesToLive);
  }

  /** A path that is relative to the live directory, as it is from the recorded one. */
  relativeToRecorded(path: string): string {
    if (this.#toRecorded.length === 0 || !path.startsWith('..')) return path;
    return relative(this.recorded, this.toRecorded(resolve(this.live, path)));
  }

  /** For a stream. */
  stream(): MappedStream {
    const forms = this.#bytesToRecorded;
    /** What stood before, and decides whether a path begins; and what may be the beginning of one. */
    let before = '';
    let held = '';
    const take = (text: string): Uint8Array => {
      const out = replaced(before + text, forms, before.length).slice(before.length);
      before = (before + text).slice(-CONTEXT);
      return Buffer.from(out, 'latin1');
    };
    return {
      push: (bytes) => {
        const all = held + latinOf(bytes);
        const sure = all.length - heldBack(all, forms);
        held = all.slice(sure);
        return take(all.slice(0, sure));
      },
      rest: () => take(held),
    };
  }
}

function formOf(from: string, to: string, isUnmistakable: boolean): Form {
  const escaped = from.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
  return { from, to, pattern: new RegExp(isUnmistakable ? escaped : `${BEGIN}${escaped}${END}`, 'g') };
}

function latin(text: string): string {
  return Buffer.from(text).toString('latin1');
}

function latinOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

/** `done`: so much at the start only tells what stands before. */
function replaced(text: string, forms: readonly Form[], done = 0): string {
  let out = text;
  for (const { from, to, pattern } of forms) {
    if (!out.includes(from)) continue;
    out = out.replaceAll(pattern, (found: string, at: number) => (at < done ? found : to));
  }
  return out;
}

function bytesReplaced(bytes: Uint8Array, forms: readonly Form[]): Uint8Array {
  if (forms.length === 0) return bytes;
  const text = latinOf(bytes);
  const out = replaced(text, forms);
  return out === text ? bytes : Buffer.from(out, 'latin1');
}

/** How much of the end may be the beginning of a path, or a path that goes on with another name. */
function heldBack(text: string, forms: readonly Form[]): number {
  let most = 0;
  for (const { from } of forms) {
    const last = text.lastIndexOf(from);
    if (last >= 0 && text.length - last - from.length < CONTEXT) most = Math.max(most, text.length - last);
    for (let size = Math.min(from.length - 1, text.length); size > most; size--) {
      if (text.endsWith(from.slice(0, size))) most = size;
    }
  }
  return most;
}
