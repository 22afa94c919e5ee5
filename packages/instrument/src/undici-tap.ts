/**
 * Tap for undici: the platform's `fetch` and every npm undici publish each request instance on the channel
 * `undici:request:create`. The tap notes the calls that the client makes on that instance and replaces nothing global.
 * https://github.com/nodejs/undici/blob/main/docs/docs/api/DiagnosticsChannel.md
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { unixNano } from './clock.ts';
import type { TapHost } from './tap-host.ts';
import { isForm, UndiciExchange, type UndiciRequest } from './undici-exchange.ts';

const CREATE = 'undici:request:create';
const SEND_HEADERS = 'undici:client:sendHeaders';
const HEADERS = 'undici:request:headers';

/** Starts the tap; the result undoes it. */
export function installUndiciTap(host: TapHost): () => void {
  const exchanges = new WeakMap<object, UndiciExchange>();
  let watching = false;

  const onSendHeaders = (message: unknown): void => {
    try {
      const { request, headers, socket } = message as SendHeaders;
      exchanges.get(request)?.sendHeaders(headers, socket);
    } catch (error) {
      host.fault('the undici tap', error);
    }
  };

  // An undici whose client calls none of the methods we tap would be recorded as silence; better to say so.
  const onHeaders = (message: unknown): void => {
    try {
      const exchange = exchanges.get((message as { request: object }).request);
      if (exchange === undefined || exchange.called) return;
      host.warn('this version of undici calls none of the known request methods; its requests are not recorded');
      exchange.giveUp();
    } catch (error) {
      host.fault('the undici tap', error);
    }
  };

  const onCreate = (message: unknown): void => {
    try {
      if (host.suppressed()) return;
      const { request } = message as { request: UndiciRequest };
      const url = urlOf(request);
      const contentType = contentTypeOf(request);
      const verdict = host.recognise(request.method, url, contentType, userAgentOf(request));
      if (verdict === 'no') return;
      if (!watching) {
        watching = true;
        subscribe(SEND_HEADERS, onSendHeaders);
        subscribe(HEADERS, onHeaders);
      }
      const start = {
        kind: verdict === 'http' ? ('http' as const) : ('llm' as const),
        client: 'undici' as const,
        method: request.method,
        url,
        startUnixNano: unixNano(),
        context: host.context(),
      };
      exchanges.set(request, new UndiciExchange(host, request, start, verdict === 'maybe' ? ['body'] : []));
    } catch (error) {
      host.fault('the undici tap', error);
    }
  };

  subscribe(CREATE, onCreate);
  return () => {
    unsubscribe(CREATE, onCreate);
    if (watching) {
      unsubscribe(SEND_HEADERS, onSendHeaders);
      unsubscribe(HEADERS, onHeaders);
    }
  };
}

interface SendHeaders {
  request: object;
  headers: string;
  socket?: { remoteAddress?: string; remotePort?: number };
}

function urlOf(request: UndiciRequest): string {
  const { origin, path } = request;
  // A request to a proxy has the absolute URL as its path.
  if (/^https?:\/\//i.test(path)) return path;
  const base = typeof origin === 'object' && origin !== null ? origin.origin : String(origin ?? '');
  return base.endsWith('/') && path.startsWith('/') ? base.slice(0, -1) + path : base + path;
}

function contentTypeOf(request: UndiciRequest): string | undefined {
  if (typeof request.contentType === 'string') return request.contentType;
  const { body } = request;
  if (isForm(body)) return 'multipart/form-data';
  return body instanceof Blob && body.type !== '' ? body.type : undefined;
}

function userAgentOf(request: UndiciRequest): string | undefined {
  const { headers } = request;
  if (!Array.isArray(headers)) return undefined;
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name: unknown = headers[i];
    if (typeof name === 'string' && name.length === 10 && name.toLowerCase() === 'user-agent') {
      return String(headers[i + 1]);
    }
  }
  return undefined;
}
