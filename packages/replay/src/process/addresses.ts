/** Where requests and connections go to. */
import type { ExchangeRecords } from '@orangebox/codec';
import type { AskedStart } from './asked-exchange.ts';
import type { Peer } from './replay-socket.ts';

/** Whether a request has the method, origin and path of a recorded one. */
export function isSamePlace({ start }: ExchangeRecords, { method, url }: AskedStart): boolean {
  return start.method === method && placeOf(start.url) === placeOf(url);
}

/** Origin and path; what a query holds may have been a secret. */
function placeOf(url: string): string {
  return URL.canParse(url) ? `${new URL(url).origin}${new URL(url).pathname}` : url;
}

/** Whether a request would go over a connection to this peer. */
export function isTo(url: string, { host, port, secure }: Peer): boolean {
  if (!URL.canParse(url)) return false;
  const asked = new URL(url);
  const askedPort = Number(asked.port) || (asked.protocol === 'https:' ? 443 : 80);
  const bare = (name: string): string => name.replace(/^\[|\]$/g, '').toLowerCase();
  return (asked.protocol === 'https:') === secure && askedPort === port && bare(asked.hostname) === bare(host);
}
