/**
 * JSON without loss: numbers keep their digits and members that are named twice stay two. `JSON.parse` makes one number
 * of `12345678901234567890` and `12345678901234567891`, and would let one request pass for the other.
 */

/** A number by its source text. */
export class JsonNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** One text for one value: `1`, `1.0` and `10e-1` are equal, whatever their size. */
  get canonical(): string {
    const parts = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,12}))?$/.exec(this.text);
    if (!parts) return this.text;
    const [, sign = '', whole = '', fraction = '', exponent = '0'] = parts;
    const digits = (whole + fraction).replace(/^0+/, '');
    const significant = digits.replace(/0+$/, '');
    if (significant === '') return '0';
    return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
  }
}

/** An object: its members as they stand in the text. */
export class JsonMembers {
  readonly names: string[];
  readonly values: LosslessJson[];

  constructor(names: string[], values: LosslessJson[]) {
    this.names = names;
    this.values = values;
  }
}

/** A parsed JSON value. */
export type LosslessJson = string | boolean | null | JsonNumber | LosslessJson[] | JsonMembers;

/** Deeper values are taken for bytes: whatever walks through them would run out of stack. */
const DEPTH_MAX = 500;

/** Parses JSON; undefined for what is none, and for what nests deeper than anything a program sends. */
export function parseLossless(text: string): LosslessJson | undefined {
  try {
    // The platform's parser says whether it is JSON at all; the reader below need not check it again.
    JSON.parse(text);
    return new Reader(text).value(0);
  } catch {
    return undefined;
  }
}

/** JSON text of a value, members in their order. */
export function losslessText(value: LosslessJson): string {
  if (value instanceof JsonNumber) return value.text;
  if (Array.isArray(value)) return `[${value.map(losslessText).join(',')}]`;
  if (value instanceof JsonMembers) {
    const members = value.names.map(
      (name, i) => `${JSON.stringify(name)}:${losslessText(value.values[i] as LosslessJson)}`,
    );
    return `{${members.join(',')}}`;
  }
  return JSON.stringify(value);
}

/** Reads text that is known to be JSON. */
class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(depth: number): LosslessJson {
    if (depth > DEPTH_MAX) throw new RangeError('nested too deep');
    this.#skipSpace();
    switch (this.#text[this.#at]) {
      case '"':
        return this.#string();
      case '{':
        return this.#object(depth);
      case '[':
        return this.#list(depth);
      case 't':
        this.#at += 4;
        return true;
      case 'f':
        this.#at += 5;
        return false;
      case 'n':
        this.#at += 4;
        return null;
      default:
        return this.#number();
    }
  }

  #skipSpace(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      this.#at += 1;
    }
  }

  #string(): string {
    const start = this.#at;
    let end = start + 1;
    let isEscaped = false;
    for (let code = this.#text.charCodeAt(end); code !== 0x22; code = this.#text.charCodeAt(++end)) {
      if (code === 0x5c) {
        isEscaped = true;
        end += 1;
      }
    }
    this.#at = end + 1;
    return isEscaped ? (JSON.parse(this.#text.slice(start, end + 1)) as string) : this.#text.slice(start + 1, end);
  }

  #number(): JsonNumber {
    const start = this.#at;
    while (/[-+.0-9eE]/.test(this.#text[this.#at] ?? '')) this.#at += 1;
    return new JsonNumber(this.#text.slice(start, this.#at));
  }

  #list(depth: number): LosslessJson[] {
    const items: LosslessJson[] = [];
    this.#at += 1;
    this.#skipSpace();
    while (this.#text[this.#at] !== ']') {
      items.push(this.value(depth + 1));
      this.#separator();
    }
    this.#at += 1;
    return items;
  }

  #object(depth: number): JsonMembers {
    const names: string[] = [];
    const values: LosslessJson[] = [];
    this.#at += 1;
    this.#skipSpace();
    while (this.#text[this.#at] !== '}') {
      names.push(this.#string());
      this.#skipSpace();
      this.#at += 1;
      values.push(this.value(depth + 1));
      this.#separator();
    }
    this.#at += 1;
    return new JsonMembers(names, values);
  }

  #separator(): void {
    this.#skipSpace();
    if (this.#text[this.#at] !== ',') return;
    this.#at += 1;
    this.#skipSpace();
  }
}
