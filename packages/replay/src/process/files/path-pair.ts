/** The working directory of a recorded run, and the one in which it is run again: each stands for the other. */
import { relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const PATH_MAX = 4096;

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

/** Both directories, absolute. */
export class PathPair {
  readonly recorded: string;
  readonly live: string;
  /** As written in texts and in URLs: live and recorded. */
  readonly #forms: readonly (readonly [live: string, recorded: string])[];
  /** The same, each byte a character. */
  readonly #byteForms: readonly (readonly [live: string, recorded: string])[];

  constructor(recorded: string, live: string) {
    this.recorded = recorded;
    this.live = live;
    const forms = new Map<string, string>([[live, recorded]]);
    for (const written of [(path: string) => pathToFileURL(path).pathname, encodeURIComponent]) {
      if (!forms.has(written(live))) forms.set(written(live), written(recorded));
    }
    this.#forms = recorded === live ? [] : [...forms];
    this.#byteForms = this.#forms.map(([a, b]) => [latin(a), latin(b)]);
  }

  /** A text of the live program as the recorded one would have had it. */
  toRecorded(text: string): string {
    return replaced(text, this.#forms);
  }

  /** The same of bytes; the same object where nothing is to be replaced. */
  bytesToRecorded(bytes: Uint8Array): Uint8Array {
    return bytesReplaced(bytes, this.#byteForms);
  }

  /** What is on record as the live program has to get it. */
  bytesToLive(bytes: Uint8Array): Uint8Array {
    return bytesReplaced(
      bytes,
      this.#byteForms.map(([live, recorded]) => [recorded, live]),
    );
  }

  /** A path that is relative to the live directory, as it is from the recorded one. */
  relativeToRecorded(path: string): string {
    if (this.#forms.length === 0 || !path.startsWith('..')) return path;
    return relative(this.recorded, this.toRecorded(resolve(this.live, path)));
  }

  /** For a stream. */
  stream(): MappedStream {
    const forms = this.#byteForms;
    let held = '';
    return {
      push: (bytes) => {
        const all = held + latinOf(bytes);
        const keep = heldBack(all, forms);
        held = all.slice(all.length - keep);
        return Buffer.from(replaced(all.slice(0, all.length - keep), forms), 'latin1');
      },
      rest: () => Buffer.from(held, 'latin1'),
    };
  }
}

function latin(text: string): string {
  return Buffer.from(text).toString('latin1');
}

function latinOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

function replaced(text: string, forms: readonly (readonly [from: string, to: string])[]): string {
  let out = text;
  for (const [from, to] of forms) if (out.includes(from)) out = out.replaceAll(from, () => to);
  return out;
}

function bytesReplaced(bytes: Uint8Array, forms: readonly (readonly [from: string, to: string])[]): Uint8Array {
  if (forms.length === 0) return bytes;
  const text = latinOf(bytes);
  const out = replaced(text, forms);
  return out === text ? bytes : Buffer.from(out, 'latin1');
}

/** How much of the end may be the beginning of a path. */
function heldBack(text: string, forms: readonly (readonly [from: string, to: string])[]): number {
  let most = 0;
  for (const [from] of forms) {
    for (let size = Math.min(from.length - 1, text.length); size > most; size--) {
      if (text.endsWith(from.slice(0, size))) most = size;
    }
  }
  return most;
}
