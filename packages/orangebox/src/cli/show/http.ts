/** Exchanges as HTTP messages, for reading. Every control character is escaped, so this is not for piping into a socket. */
import { type ContentDecoder, decodeBody, headerOf } from '@orangebox/codec';
import type { Body, Exchange, HeaderList, Snapshot } from '@orangebox/schema';
import { escapeLine, escapeText } from '../text/escape.ts';
import { formatBytes } from '../text/format.ts';
import type { Pen } from './pen.ts';

/** Writes every attempt's request and response. */
export function renderHttp(pen: Pen, snapshot: Snapshot, decode: ContentDecoder): void {
  const c = pen.colors;
  for (const exchange of snapshot.exchanges) {
    if (snapshot.exchanges.length > 1)
      pen.line(c.dim(`# attempt ${exchange.attempt + 1} of ${snapshot.exchanges.length}`));
    renderRequestHead(pen, exchange);
    renderBody(pen, exchange.request.body, exchange.request.headers, decode);
    pen.line();
    const { response } = exchange;
    if (response !== undefined) {
      for (const info of response.informational ?? []) pen.line(c.dim(`HTTP/1.1 ${info.status}`));
      const version = response.httpVersion ?? '1.1';
      const paint = response.status >= 400 ? c.red : c.green;
      pen.line(paint(escapeLine(`HTTP/${version} ${response.status} ${response.statusText}`.trimEnd())));
      renderHeaders(pen, response.headers, []);
      pen.line();
      renderBody(pen, response.body, response.storedDecoded === undefined ? response.headers : [], decode);
      if (response.trailers !== undefined) renderHeaders(pen, response.trailers, []);
    }
    if (exchange.ending !== 'complete') {
      const why = exchange.error === undefined ? '' : `: ${exchange.error.message}`;
      pen.line(
        c.red(
          escapeLine(
            `# ended: ${exchange.ending.replaceAll('_', ' ')} in ${exchange.stage.replaceAll('_', ' ')}${why}`,
          ),
        ),
      );
    }
    if (exchange.truncated !== undefined) {
      pen.line(c.yellow(`# recorded only in part: ${Object.keys(exchange.truncated).join(' and ')} body`));
    }
    pen.line();
  }
}

function renderRequestHead(pen: Pen, exchange: Exchange): void {
  const { request } = exchange;
  pen.line(pen.colors.bold(escapeLine(`${request.method} ${request.url} HTTP/1.1`)));
  renderHeaders(pen, request.headers, request.derivedHeaders ?? []);
  pen.line();
}

function renderHeaders(pen: Pen, headers: HeaderList, derived: readonly number[]): void {
  for (const [index, [name, value]] of headers.entries()) {
    const note = derived.includes(index) ? pen.colors.dim('   # added by the client, not seen') : '';
    pen.line(`${pen.colors.cyan(escapeLine(name))}: ${escapeLine(value)}${note}`);
  }
}

function renderBody(pen: Pen, body: Body, headers: HeaderList, decode: ContentDecoder): void {
  if (body.form === 'empty') return;
  const bytes = decodeBody(body);
  const encoding = headerOf(headers, 'content-encoding');
  const plain = encoding === undefined ? bytes : decode(encoding, bytes);
  const text = plain === undefined ? undefined : utf8(plain);
  if (encoding !== undefined && plain !== undefined) {
    pen.line(pen.colors.dim(`# decoded from ${escapeLine(encoding)}, ${formatBytes(bytes.length)}`));
  }
  pen.line(
    text === undefined
      ? pen.colors.dim(`# ${formatBytes(bytes.length)} that are no text (--raw writes them)`)
      : escapeText(text),
  );
}

function utf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
