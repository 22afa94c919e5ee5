/** What `docs/capture.md` says that Orangebox puts in place; everything else is a finding. */

/** Whether a changed property is one of the documented ones, on that version of Node.js. */
export function isDocumentedPatch(name: string, node: string): boolean {
  if (name === 'globalThis.Symbol(orangebox.runtime.1)' || PLATFORM.has(name)) return true;
  return !publishesRequests(node) && /^https?\.(?:request|get)$/.test(name);
}

/** The platform's own doing: the main module is set after preloads, and the process holds stores of AsyncLocalStorage. */
const PLATFORM: ReadonlySet<string> = new Set(['process.mainModule', 'process.Symbol(kResourceStore)']);

/** From 22.12 on Node.js publishes each request that is created. */
function publishesRequests(node: string): boolean {
  const [major = 0, minor = 0] = node.split('.').map(Number);
  return major > 22 || (major === 22 && minor >= 12);
}

/** Listeners of the process, at most one each. */
export const DOCUMENTED_LISTENERS: ReadonlySet<string> = new Set(['beforeExit', 'exit', 'SIGTERM', 'SIGINT']);

/** Diagnostics channels. */
export const DOCUMENTED_CHANNELS: ReadonlySet<string> = new Set([
  'undici:request:create',
  'undici:client:sendHeaders',
  'undici:request:headers',
  'http.client.request.created',
  'http.server.request.start',
]);

/** Own methods of tapped objects. */
export const DOCUMENTED_METHODS: { readonly [object: string]: ReadonlySet<string> } = {
  'http request': new Set(['write', 'end', 'destroy', 'emit', 'flushHeaders', '_send']),
  'http response': new Set(['push', 'destroy']),
  socket: new Set(['write']),
  'undici request': new Set([
    'onConnect',
    'onBodySent',
    'onRequestSent',
    'onUpgrade',
    'onHeaders',
    'onData',
    'onComplete',
    'onError',
    'onRequestStart',
    'onRequestUpgrade',
    'onResponseStart',
    'onResponseStarted',
    'onResponseData',
    'onResponseEnd',
    'onResponseError',
  ]),
};
