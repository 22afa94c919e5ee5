/** The frame of every page, and the headers that it goes out with. */
import { html, type Html } from './html.ts';
import { STYLE, STYLE_HASH } from './style.ts';

/** A page to send. */
export interface Page {
  status: number;
  title: string;
  body: Html;
  /** Load it again after so many seconds: what it is about may arrive. */
  refreshSeconds?: number;
}

/** Sent with everything, whatever it is. */
export const SAFE_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': `default-src 'none'; style-src ${STYLE_HASH}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cache-Control': 'no-store',
};

/** The whole document. */
export function documentOf(page: Page): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${page.title} · Orangebox</title>
${STYLE_ELEMENT}
</head>
<body><main>
${page.body}
</main></body>
</html>
`.toString();
}

/** Our own text, which the policy names by its hash: nothing in it may be escaped. */
const STYLE_ELEMENT = styleElement();

function styleElement(): Html {
  // The tag's first strings are what stands in the source, so a template without values is our own text.
  const strings = Object.assign([`<style>${STYLE}</style>`], { raw: [`<style>${STYLE}</style>`] });
  return html(strings);
}
