/** Planted marks: values made anew for each audit, and what is promised of each. */
import { randomBytes } from 'node:crypto';

/** A value that was planted somewhere. */
export interface Mark {
  /** Where it stands, in words. */
  place: string;
  value: string;
  /** `secret` must come out nowhere; `control` must be found in recordings and payloads. */
  kind: 'secret' | 'control';
}

/** How a secret is spelt: letters and digits; with characters that change under base64 and URLs; under JSON. */
export type Spelling = 'plain' | 'url' | 'json';

const SPELLINGS: readonly Spelling[] = ['plain', 'url', 'json'];
const VALUE_CHARS = 40;

/** Makes marks and keeps them. */
export class Marks {
  readonly all: Mark[] = [];
  #turn = 0;

  /** A secret; without a spelling each in turn. */
  secret(place: string, spelling?: Spelling): string {
    const core = letters();
    this.#turn += 1;
    const value = spelt(core, spelling ?? SPELLINGS[this.#turn % SPELLINGS.length] ?? 'plain');
    this.all.push({ place, value, kind: 'secret' });
    return value;
  }

  /** Text that is no secret. */
  control(place: string): string {
    const value = `control${letters().slice(0, 25)}`;
    this.all.push({ place, value, kind: 'control' });
    return value;
  }
}

function spelt(core: string, spelling: Spelling): string {
  if (spelling === 'url') return `${core.slice(0, 20)}+/=${core.slice(20)}`;
  return spelling === 'json' ? `${core.slice(0, 20)}"\\%&${core.slice(20)}é` : core;
}

/** Letters and digits: a piece of ten of them stands nowhere by accident. */
function letters(): string {
  let text = '';
  while (text.length < VALUE_CHARS) text += randomBytes(48).toString('base64').replaceAll(/[+/=]/g, '');
  return text.slice(0, VALUE_CHARS);
}

/** Every text and byte string by which a mark would be known again, by the name of the form. */
export function formsOf({ value, kind }: Mark): [form: string, bytes: Buffer][] {
  const forms: [string, Buffer][] = [['plain', Buffer.from(value)]];
  if (kind === 'control') return forms;
  const json = JSON.stringify(value).slice(1, -1);
  const spellings: [string, string][] = [['', value]];
  if (json !== value)
    spellings.push(['JSON-escaped ', json], ['twice JSON-escaped ', JSON.stringify(json).slice(1, -1)]);
  const encoded = encodeURIComponent(value);
  if (encoded !== value) spellings.push(['URL-encoded ', encoded], ['form-encoded ', encoded.replaceAll('%20', '+')]);
  for (const [name, text] of spellings) {
    if (name !== '') forms.push([name.trim(), Buffer.from(text)]);
    for (const base64 of base64Alignments(Buffer.from(text))) {
      forms.push([`${name}base64`, Buffer.from(base64)]);
      forms.push([`${name}base64url`, Buffer.from(base64.replaceAll('+', '-').replaceAll('/', '_'))]);
    }
    const hex = Buffer.from(text).toString('hex');
    forms.push([`${name}hex`, Buffer.from(hex)], [`${name}hex`, Buffer.from(hex.toUpperCase())]);
  }
  const utf16 = Buffer.from(value, 'utf16le');
  forms.push(['UTF-16', utf16], ['UTF-16 big-endian', Buffer.from(utf16).swap16()]);
  // A mark that was cut, or split over two records, still has one of these whole.
  for (const run of value.match(/[A-Za-z0-9]{10,}/g) ?? []) {
    for (let at = 0; at + 10 <= run.length; at += 10) forms.push(['a piece', Buffer.from(run.slice(at, at + 10))]);
  }
  forms.push(['reversed', Buffer.from([...value].reverse().join(''))]);
  return forms;
}

/** What base64 makes of the bytes at each of the three places that they can begin at, less what neighbours decide. */
function base64Alignments(bytes: Buffer): string[] {
  return [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    const head = before === 0 ? 0 : before + 1;
    const whole = Math.floor(((before + bytes.length) * 8) / 6);
    return text.slice(head, whole);
  });
}
