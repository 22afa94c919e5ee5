/** HTML in which nothing recorded can be anything but text. */

/** Markup that is safe to put into a page: only {@link html} and {@link marked} make it. */
export class Html {
  readonly #markup: string;

  private constructor(markup: string) {
    this.#markup = markup;
  }

  /** For this file alone. */
  static of(markup: string): Html {
    return new Html(markup);
  }

  toString(): string {
    return this.#markup;
  }
}

/** Longest text that goes into a page as it is; longer ones are cut here, or beforehand with a note. */
const TEXT_MAX = 4096;

/** What may stand in a template: text is escaped, lists are joined, nothing is left out. */
export type HtmlValue = string | number | Html | undefined | readonly HtmlValue[];

/** Template tag: every value that is no {@link Html} is escaped, in text and in quoted attributes alike. */
export function html(strings: TemplateStringsArray, ...values: HtmlValue[]): Html {
  let markup = strings[0] ?? '';
  for (const [i, value] of values.entries()) markup += `${markupOf(value)}${strings[i + 1] ?? ''}`;
  return Html.of(markup);
}

function markupOf(value: HtmlValue): string {
  if (value === undefined) return '';
  if (value instanceof Html) return value.toString();
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return escape(value.length > TEXT_MAX ? `${value.slice(0, TEXT_MAX)}…` : value);
  return value.map(markupOf).join('');
}

/**
 * Characters that a reader cannot see or that turn the reading direction; tab and newline are none of them. Joiners
 * stay, since scripts and emoji need them.
 */
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb]|\p{Surrogate}|[\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

/** Text with its hidden characters shown as marked escapes, at most `maxLength` characters of it. */
export function marked(text: string, maxLength: number = TEXT_MAX): Html {
  let markup = '';
  let end = 0;
  const plain = (text.length > maxLength ? `${text.slice(0, maxLength)}…` : text).replaceAll('\r\n', '\n');
  for (const match of plain.matchAll(HIDDEN)) {
    markup += `${escape(plain.slice(end, match.index))}<span class="hidden-char">${visible(match[0])}</span>`;
    end = match.index + match[0].length;
  }
  return Html.of(markup + escape(plain.slice(end)));
}

const ENTITIES: { readonly [char: string]: string } = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? '').replace(HIDDEN, visible);
}

function visible(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  if (char === '\r') return '\\r';
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, '0')}`;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`;
}
