/**
 * Who may read the page. It serves private recordings on loopback, so the browser of the same person is the one way in
 * for others: another page's scripts, frames and forms, and names that were made to point here (DNS rebinding).
 */
import type { IncomingMessage } from 'node:http';

/** Why a request is refused. */
export interface Refusal {
  status: number;
  message: string;
}

/** What may be asked for from another site: a page by a link in a trace UI, but no file. */
export type Reach = 'page' | 'file';

const METHODS = new Set(['GET', 'HEAD']);

/** Undefined when the request is answered. `port`: the one that is listened on. */
export function refusal(request: IncomingMessage, port: number, reach: Reach): Refusal | undefined {
  if (!isOwnHost(request, port)) {
    return { status: 421, message: 'this server answers to localhost and 127.0.0.1 only, with its own port' };
  }
  if (!METHODS.has(request.method ?? '')) return { status: 405, message: 'only GET and HEAD' };
  const { origin } = request.headers;
  const site = request.headers['sec-fetch-site'];
  if (site === 'cross-site' || site === 'same-site') {
    const mode = request.headers['sec-fetch-mode'];
    const isLink = mode === 'navigate' && request.headers['sec-fetch-dest'] === 'document';
    if (isLink && reach === 'page') return undefined;
    return { status: 403, message: 'another site may link to this page, and nothing more' };
  }
  // Browsers that send no Sec-Fetch-Site name the origin at least with requests of scripts.
  if (site === undefined && origin !== undefined && !isOwnOrigin(origin, port)) {
    return { status: 403, message: 'another site may not read this page' };
  }
  return undefined;
}

function isOwnHost(request: IncomingMessage, port: number): boolean {
  const names = request.rawHeaders.filter((text, i) => i % 2 === 0 && text.toLowerCase() === 'host');
  return names.length === 1 && isOwnAuthority(request.headers.host ?? '', port);
}

function isOwnAuthority(authority: string, port: number): boolean {
  const m = /^(localhost|127\.0\.0\.1|\[::1\])(?::(\d{1,5}))?$/i.exec(authority);
  return m !== null && Number(m[2] ?? 80) === port;
}

function isOwnOrigin(origin: string, port: number): boolean {
  return origin.startsWith('http://') && isOwnAuthority(origin.slice('http://'.length), port);
}
