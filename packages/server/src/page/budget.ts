/** How much recorded text a page takes: a recording may be larger than any browser bears. */
import { html, type Html, marked } from './html.ts';
import { formatBytes } from './format.ts';

/** Most characters of one text. */
const TEXT_MAX = 20_000;

/** Most characters of recorded text on a page. */
const PAGE_MAX = 2_000_000;

/** What the markup around a text counts for. */
const BLOCK_COST = 200;

/** Cuts texts so that a page stays bearable. */
export class Budget {
  #left = PAGE_MAX;

  /** Nothing more fits. */
  get spent(): boolean {
    return this.#left <= 0;
  }

  /** The text in a `pre`, cut with a note where it is too long. `whole`: where all of it can be had. */
  block(text: string, className: string, whole?: Html): Html {
    const max = Math.max(0, Math.min(TEXT_MAX, this.#left));
    const shown = text.length > max ? text.slice(0, max).replace(/[\ud800-\udbff]$/, '') : text;
    this.#left -= shown.length + BLOCK_COST;
    return html`<pre class="${className}" dir="auto">${marked(shown, TEXT_MAX)}</pre>${
      shown.length < text.length
        ? html`<p class="dim">… cut: ${(text.length - shown.length).toLocaleString('en-US')} more characters${whole === undefined ? '' : html`, ${whole}`}</p>`
        : undefined
    }`;
  }

  /** Bytes as a hex table of their beginning. */
  hex(bytes: Uint8Array): Html {
    const shown = bytes.subarray(0, 256);
    const lines: string[] = [];
    for (let at = 0; at < shown.length; at += 16) {
      const row = shown.subarray(at, at + 16);
      const hex = [...row].map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
      const text = [...row].map((byte) => (byte > 0x1f && byte < 0x7f ? String.fromCharCode(byte) : '.')).join('');
      lines.push(`${at.toString(16).padStart(6, '0')}  ${hex.padEnd(47)}  ${text}`);
    }
    this.#left -= lines.length * 72;
    const rest = bytes.length > shown.length ? `, the first ${shown.length} of them` : '';
    return html`<p class="dim">${formatBytes(bytes.length)} that are no text${rest}:</p><pre class="bytes">${lines.join('\n')}</pre>`;
  }
}
