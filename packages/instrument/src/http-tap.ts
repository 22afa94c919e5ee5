/**
 * Tap for `http` and `https`: from Node 22.12 each request is published on the channel `http.client.request.created`;
 * before, `request` and `get` of both modules are wrapped.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ClientRequest } from 'node:http';
import { unixNano } from './clock.ts';
import { parseHeaderText } from './header-text.ts';
import { HttpExchange } from './http-exchange.ts';
import { wrapHttpModules } from './http-wrap.ts';
import type { TapHost } from './tap-host.ts';

const CREATED = 'http.client.request.created';

/** Starts the tap; the result undoes it. */
export function installHttpTap(host: TapHost, nodeVersion: string = process.versions.node): () => void {
  const onRequest = (request: ClientRequest, port?: string): void => {
    try {
      if (host.suppressed()) return;
      // The content type may still be set, so that the path alone rules out here; the head decides.
      const url = urlOf(request, port);
      const verdict = host.recognise(
        request.method,
        url,
        textHeader(request, 'content-type'),
        textHeader(request, 'user-agent'),
      );
      if (verdict === 'no') return;
      void new HttpExchange(host, request, {
        kind: verdict === 'http' ? 'http' : 'llm',
        client: 'http',
        method: request.method,
        url,
        startUnixNano: unixNano(),
        context: host.context(),
      });
    } catch (error) {
      host.fault('the http tap', error);
    }
  };
  if (!publishesCreation(nodeVersion)) return wrapHttpModules(onRequest);
  const onCreated = (message: unknown): void => onRequest((message as { request: ClientRequest }).request);
  subscribe(CREATED, onCreated);
  return () => {
    unsubscribe(CREATED, onCreated);
  };
}

/** The channel came with 23.2 and 22.12. */
export function publishesCreation(nodeVersion: string): boolean {
  const [major = 0, minor = 0] = nodeVersion.split('.').map(Number);
  return major > 23 || (major === 23 && minor >= 2) || (major === 22 && minor >= 12);
}

function textHeader(request: ClientRequest & { _header?: unknown }, name: string): string | undefined {
  const value = request.getHeader(name);
  if (value !== undefined) return String(Array.isArray(value) ? value[0] : value);
  // With a header array given as `headers` none is stored: the head is written when the request is made.
  if (typeof request._header !== 'string') return undefined;
  return parseHeaderText(request._header).find(([sent]) => sent.toLowerCase() === name)?.[1];
}

/** The request object keeps everything but the port, which stands in the Host header unless the program set its own. */
function urlOf(request: ClientRequest, port: string | undefined): string {
  const { protocol, path } = request;
  const host = request.host.includes(':') && !request.host.startsWith('[') ? `[${request.host}]` : request.host;
  if (/^https?:\/\//i.test(path)) return path;
  const sent = textHeader(request, 'host');
  let authority = host;
  if (port !== undefined && port !== (protocol === 'https:' ? '443' : '80')) authority = `${host}:${port}`;
  else if (port === undefined && sent?.toLowerCase().startsWith(`${host.toLowerCase()}:`)) authority = sent;
  return `${protocol}//${authority}${path}`;
}
