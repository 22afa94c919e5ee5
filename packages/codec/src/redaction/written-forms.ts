/** The byte sequences in which a secret may stand in a body, header or URL. */
import { toBase64, utf8 } from '../bytes.ts';

/** JSON texts within JSON texts are followed this deep. */
const JSON_DEPTH = 4;

/** Every form of a secret's value that is searched for, without doubles. */
export function writtenForms(value: string): Uint8Array[] {
  const texts = new Set<string>([value]);
  for (const text of jsonForms(value)) texts.add(text);
  for (const text of urlForms(value)) texts.add(text);
  for (const text of base64Forms(utf8(value))) texts.add(text);
  return [...texts].map(utf8);
}

/** As a JSON string, as a JSON string in a JSON string, and so on, by the habits of common serialisers. */
function jsonForms(value: string): string[] {
  const escapers: ((text: string) => string)[] = [
    (text) => JSON.stringify(text).slice(1, -1),
    // PHP escapes slashes; Python and Ruby everything beyond ASCII; Go what HTML reads as markup.
    (text) => JSON.stringify(text).slice(1, -1).replaceAll('/', '\\/'),
    (text) =>
      JSON.stringify(text)
        .slice(1, -1)
        .replace(/[\u007f-\uffff]/g, unicodeEscape),
    (text) =>
      JSON.stringify(text)
        .slice(1, -1)
        .replace(/[<>&\u2028\u2029]/g, unicodeEscape),
  ];
  const forms: string[] = [];
  for (const escape of escapers) {
    let text = value;
    for (let depth = 0; depth < JSON_DEPTH; depth++) {
      const escaped = escape(text);
      // Most keys have nothing to escape; they have one form.
      if (escaped === text) break;
      text = escaped;
      forms.push(text);
    }
  }
  return forms;
}

function unicodeEscape(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** In a URL: with upper and lower case hex digits, and as a form field. */
function urlForms(value: string): string[] {
  if (/^[\w.~-]*$/.test(value)) return [];
  let encoded: string;
  try {
    encoded = encodeURIComponent(value);
  } catch {
    return [];
  }
  const strict = encoded.replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
  const forms = [encoded, strict, strict.replaceAll('%20', '+')];
  return [...forms, ...forms.map((form) => form.replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase()))];
}

/** Within base64 of something longer: the digits that depend on the secret alone, at each of three alignments. */
function base64Forms(bytes: Uint8Array): string[] {
  const forms: string[] = [];
  for (let before = 0; before < 3; before++) {
    const padded = new Uint8Array(before + bytes.length);
    padded.set(bytes, before);
    const from = Math.ceil((before * 8) / 6);
    const to = Math.floor(((before + bytes.length) * 8) / 6);
    const digits = toBase64(padded).slice(from, to);
    forms.push(digits, digits.replaceAll('+', '-').replaceAll('/', '_'));
  }
  return forms;
}
