/** The wire of a call: attempts, heads and bodies as they were sent and received. */
import { decodeBody, headerOf } from '@orangebox/codec';
import type { Body, Exchange, ExchangeResponse, HeaderList, Snapshot } from '@orangebox/schema';
import { decodeContent } from '@orangebox/store';
import type { Budget } from './budget.ts';
import { pretty } from './conversation.ts';
import { formatBytes, formatNano, formatTime } from './format.ts';
import { html, type Html, marked } from './html.ts';

/** Compressed bodies above this are not unpacked for the page. */
const UNPACK_MAX_BYTES = 8 * 1024 * 1024;

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

/** Every exchange, folded. `base`: address of the call's page. */
export function exchangesOf(snapshot: Snapshot, base: string, budget: Budget): Html | undefined {
  if (snapshot.exchanges.length === 0) return undefined;
  return html`<h2>Raw exchange</h2>
${snapshot.exchanges.slice(0, EXCHANGES_MAX).map((exchange, i) => exchangeOf(exchange, i, snapshot.exchanges.length, base, budget))}
${snapshot.exchanges.length > EXCHANGES_MAX ? html`<p class="dim">and ${snapshot.exchanges.length - EXCHANGES_MAX} more in the whole snapshot</p>` : undefined}`;
}

function exchangeOf(exchange: Exchange, i: number, count: number, base: string, budget: Budget): Html {
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
${bodyOf('request body', request.body, request.headers, `${base}/raw/${i}/request`, budget)}
${response === undefined ? html`<p class="bad">no response: ${exchange.ending.replaceAll('_', ' ')} in ${exchange.stage.replaceAll('_', ' ')}</p>` : responseOf(exchange, response, `${base}/raw/${i}/response`, budget)}
${exchange.error === undefined ? undefined : html`<p class="bad">${exchange.error.type}${exchange.error.code === undefined ? '' : ` (${exchange.error.code})`}</p>${budget.block(exchange.error.message, 'bytes')}`}
</section>`;
}

function responseOf(exchange: Exchange, response: ExchangeResponse, raw: string, budget: Budget): Html {
  const version = response.httpVersion === undefined ? '' : `HTTP/${response.httpVersion} `;
  const ended = exchange.ending === 'complete' ? '' : `, ended: ${exchange.ending.replaceAll('_', ' ')}`;
  const headers = response.storedDecoded === undefined ? response.headers : [];
  return html`<h3 class="${paint(exchange)}"><span class="mono">${version}${response.status} ${response.statusText}</span>${ended}</h3>
<details><summary>response headers (${response.headers.length})</summary>${headersOf(response.headers, [])}</details>
${timingOf(exchange, response)}
${bodyOf('response body', response.body, headers, raw, budget)}
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

function bodyOf(title: string, body: Body, headers: HeaderList, raw: string, budget: Budget): Html {
  if (body.form === 'empty') return html`<p class="dim">${title}: empty</p>`;
  const link = html`<a href="${raw}">the bytes</a>`;
  const coding = headerOf(headers, 'content-encoding');
  if (budget.spent) return html`<p class="dim">${title}: ${formatBytes(body.sizeBytes)}, not shown, ${link}</p>`;
  const bytes = decodeBody(body);
  const plain =
    coding === undefined ? bytes : bytes.length > UNPACK_MAX_BYTES ? undefined : decodeContent(coding, bytes);
  const note = coding === undefined ? '' : plain === undefined ? `, ${coding}` : `, decoded from ${coding}`;
  const text = plain === undefined ? undefined : textOf(plain);
  return html`<details><summary>${title} (${formatBytes(body.sizeBytes)}${note})</summary><p class="dim">${link}</p>${
    text === undefined ? budget.hex(bytes) : budget.block(pretty(text), 'bytes', link)
  }</details>`;
}

/** The beginning as text; undefined where the bytes are no UTF-8. */
function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
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
