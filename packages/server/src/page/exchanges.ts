/** The wire of a call: attempts, heads and bodies as they were sent and received. */
import { decodeBody, headerOf } from '@orangebox/codec';
import type { Body, Exchange, ExchangeResponse, HeaderList, Snapshot } from '@orangebox/schema';
import type { Budget } from './budget.ts';
import { pretty } from './conversation.ts';
import { formatBytes, formatNano, formatTime } from './format.ts';
import { html, type Html, marked } from './html.ts';
import type { Unpacked, Unpacking } from './unpacking.ts';

/** Attempts in the table. */
const ATTEMPTS_MAX = 100;

/** Exchanges shown in whole; a call of more attempts is a fault of its own. */
const EXCHANGES_MAX = 20;

/** Header fields shown per message. */
const HEADERS_MAX = 200;

/** A table of the attempts, where there are several. */
export function attemptsOf(snapshot: Snapshot): Html | undefined {
  if (snapshot.exchanges.length < 2) return undefined;
  const basis = snapshot.attemptsBasis === 'inferred' ? ' (joined by rule: the client sends no retry counter)' : '';
  return html`<h2>Attempts <span class="dim">${snapshot.exchanges.length}${basis}</span></h2>
<table class="list"><tr><th>#</th><th>began</th><th>outcome</th><th>took</th><th>why</th></tr>
${snapshot.exchanges
  .slice(0, ATTEMPTS_MAX)
  .map(
    (exchange) =>
      html`<tr><td>${exchange.attempt + 1}</td><td>${formatTime(exchange.startUnixNano)}</td><td class="${paint(exchange)}">${outcome(exchange)}</td><td>${formatNano(BigInt(exchange.endOffsetNano))}</td><td>${exchange.error?.message.slice(0, 300)}</td></tr>`,
  )}</table>`;
}

/** What bodies may take of a page. */
interface Bounds {
  budget: Budget;
  unpacking: Unpacking;
}

/** Every exchange, folded. `base`: address of the call's page. */
export async function exchangesOf(snapshot: Snapshot, base: string, bounds: Bounds): Promise<Html | undefined> {
  const count = snapshot.exchanges.length;
  if (count === 0) return undefined;
  const shown: Html[] = [];
  // One after the other: each takes of what those before it have left.
  for (const [i, exchange] of snapshot.exchanges.slice(0, EXCHANGES_MAX).entries()) {
    shown.push(await exchangeOf(exchange, { i, count, raw: `${base}/raw/${i}` }, bounds));
  }
  return html`<h2>Raw exchange</h2>
${shown}
${snapshot.exchanges.length > EXCHANGES_MAX ? html`<p class="dim">and ${snapshot.exchanges.length - EXCHANGES_MAX} more in the whole snapshot</p>` : undefined}`;
}

async function exchangeOf(
  exchange: Exchange,
  { i, count, raw }: { i: number; count: number; raw: string },
  bounds: Bounds,
): Promise<Html> {
  const { request, response, peer } = exchange;
  const rest = [
    `sent with ${exchange.client}`,
    peer === undefined ? '' : `to ${peer.address} port ${peer.port}`,
    exchange.truncated === undefined ? '' : `recorded in part: ${Object.keys(exchange.truncated).join(' and ')} body`,
  ];
  return html`<section class="exchange">
${count > 1 ? html`<h3>Attempt ${i + 1} of ${count}</h3>` : undefined}
<h3><span class="mono">${request.method} ${marked(request.url)}</span></h3>
<p class="dim">${rest.filter((part) => part !== '').join(' · ')}</p>
<details><summary>request headers (${request.headers.length})</summary>${headersOf(request.headers, request.derivedHeaders ?? [])}</details>
${await bodyOf('request body', request.body, request.headers, `${raw}/request`, bounds)}
${response === undefined ? html`<p class="bad">no response: ${exchange.ending.replaceAll('_', ' ')} in ${exchange.stage.replaceAll('_', ' ')}</p>` : await responseOf(exchange, response, `${raw}/response`, bounds)}
${exchange.error === undefined ? undefined : html`<p class="bad">${exchange.error.type}${exchange.error.code === undefined ? '' : ` (${exchange.error.code})`}</p>${bounds.budget.block(exchange.error.message, 'bytes')}`}
</section>`;
}

async function responseOf(exchange: Exchange, response: ExchangeResponse, raw: string, bounds: Bounds): Promise<Html> {
  const version = response.httpVersion === undefined ? '' : `HTTP/${response.httpVersion} `;
  const ended = exchange.ending === 'complete' ? '' : `, ended: ${exchange.ending.replaceAll('_', ' ')}`;
  const headers = response.storedDecoded === undefined ? response.headers : [];
  return html`<h3 class="${paint(exchange)}"><span class="mono">${version}${response.status} ${response.statusText}</span>${ended}</h3>
<details><summary>response headers (${response.headers.length})</summary>${headersOf(response.headers, [])}</details>
${timingOf(exchange, response)}
${await bodyOf('response body', response.body, headers, raw, bounds)}
${response.trailers === undefined ? undefined : html`<details><summary>trailers</summary>${headersOf(response.trailers, [])}</details>`}`;
}

function timingOf(exchange: Exchange, response: ExchangeResponse): Html {
  const { chunks } = response;
  const [first, last] = [chunks[0], chunks.at(-1)];
  const parts = [
    `head after ${formatNano(BigInt(response.headOffsetNano))}`,
    first === undefined ? '' : `first chunk after ${formatNano(BigInt(first.offsetNano))}`,
    chunks.length > 1 && last !== undefined
      ? `last of ${chunks.length} after ${formatNano(BigInt(last.offsetNano))}`
      : '',
    `end after ${formatNano(BigInt(exchange.endOffsetNano))}`,
  ];
  return html`<p class="dim">${parts.filter((part) => part !== '').join(' · ')}</p>`;
}

function headersOf(headers: HeaderList, derived: readonly number[]): Html {
  const more = headers.length - HEADERS_MAX;
  return html`<table class="headers">${headers
    .slice(0, HEADERS_MAX)
    .map(
      ([name, value], i) =>
        html`<tr><th>${marked(name, 400)}</th><td>${marked(value)}${derived.includes(i) ? html` <span class="dim">(added by the client, not seen)</span>` : undefined}</td></tr>`,
    )}</table>${more > 0 ? html`<p class="dim">and ${more} more</p>` : undefined}`;
}

async function bodyOf(
  title: string,
  body: Body,
  headers: HeaderList,
  raw: string,
  { budget, unpacking }: Bounds,
): Promise<Html> {
  if (body.form === 'empty') return html`<p class="dim">${title}: empty</p>`;
  const link = html`<a href="${raw}">the bytes</a>`;
  const coding = headerOf(headers, 'content-encoding');
  if (budget.spent || (coding !== undefined && unpacking.spent))
    return html`<p class="dim">${title}: ${formatBytes(body.sizeBytes)}, not shown: the page is full, ${link}</p>`;
  const bytes = decodeBody(body);
  const plain = await unpacking.start(bytes, coding);
  const note = coding === undefined ? '' : plain === undefined ? `, ${coding}` : `, decoded from ${coding}`;
  const text = plain === undefined ? undefined : textOf(plain);
  return html`<details><summary>${title} (${formatBytes(body.sizeBytes)}${note})</summary><p class="dim">${link}</p>${
    text === undefined ? budget.hex(bytes) : budget.block(pretty(text), 'bytes', link)
  }${plain?.cut ? html`<p class="dim">… only the first ${formatBytes(plain.bytes.length)} were read for this page; ${link} are whole</p>` : undefined}</details>`;
}

/** The text; undefined where the bytes are no UTF-8. Of one that was cut, the last character may be missing. */
function textOf({ bytes, cut }: Unpacked): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: cut });
  } catch {
    return undefined;
  }
}

function paint(exchange: Exchange): string {
  if (exchange.ending === 'caller_abort' || exchange.ending === 'caller_stopped_reading') return 'warn';
  return exchange.ending !== 'complete' || (exchange.response?.status ?? 0) >= 400 ? 'bad' : 'ok';
}

function outcome(exchange: Exchange): string {
  const ending = exchange.ending === 'complete' ? '' : exchange.ending.replaceAll('_', ' ');
  return [exchange.response === undefined ? '' : String(exchange.response.status), ending]
    .filter((part) => part !== '')
    .join(' ');
}
