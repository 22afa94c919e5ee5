/** Sends one request with one client and observes everything that this client shows of the answer. */
import http from 'node:http';

/** The clients a transport case runs with, unless it names its own. */
export const CLIENTS = ['fetch', 'undici', 'http'];

const collect = async (iterable) => {
  const parts = [];
  for await (const part of iterable) parts.push(part);
  return Buffer.concat(parts);
};

async function viaFetch({ observe }, url, { method, headers, body, signal, redirect }) {
  const init = { method, headers, body, signal, redirect, ...(isStream(body) ? { duplex: 'half' } : {}) };
  const response = await fetch(url, init);
  observe('response', response);
  const bytes = response.body === null ? null : await collect(response.body);
  observe('body', bytes);
  observe('response after', response);
  return { status: response.status, bytes };
}

const isStream = (body) =>
  typeof body === 'object' && body !== null && (body instanceof ReadableStream || Symbol.asyncIterator in body);

/** With an agent of its own: the global one is the platform's, whose version of undici may be another. */
async function viaUndici({ observe, load }, url, { method, headers, body, signal, redirect, dispatcher, global }) {
  const { Agent, request, interceptors } = await load('undici-7');
  const own = () =>
    redirect === 'follow' ? new Agent().compose(interceptors.redirect({ maxRedirections: 5 })) : new Agent();
  const used = dispatcher ?? (global === true ? undefined : own());
  const answer = await request(url, { method, headers, body, signal, dispatcher: used });
  const { statusCode, opaque, context } = answer;
  observe('response', { statusCode, headers: answer.headers, opaque, context, own: Object.keys(answer) });
  const bytes = await collect(answer.body);
  observe('body', bytes);
  observe('trailers', answer.trailers);
  return { status: statusCode, bytes };
}

/** Not `timeout`: the agent has one of its own, which a busy machine meets. */
function viaHttp({ observe }, url, { method, headers, body, signal, agent }) {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method, headers, signal, agent });
    const events = [];
    for (const name of ['information', 'continue', 'finish', 'abort', 'close', 'upgrade', 'connect'])
      request.on(name, (info) => events.push(name === 'information' ? [name, info.statusCode, info.rawHeaders] : name));
    request.on('error', (error) => {
      observe('error', error);
      reject(error);
    });
    request.on('response', (response) => {
      observe('response', response);
      const parts = [];
      let failure;
      for (const name of ['end', 'aborted', 'close']) response.on(name, () => events.push(`response ${name}`));
      response.on('data', (part) => parts.push(part));
      response.on('error', (error) => {
        failure = error;
      });
      response.on('close', () => {
        const bytes = Buffer.concat(parts);
        observe('events', events);
        observe('body', bytes);
        observe('trailers', response.rawTrailers);
        if (failure === undefined) resolve({ status: response.statusCode, bytes });
        else reject(failure);
      });
    });
    if (body === undefined || body === null) request.end();
    else if (isStream(body)) collect(body).then((bytes) => request.end(bytes), reject);
    else request.end(body);
  });
}

const ways = { fetch: viaFetch, undici: viaUndici, http: viaHttp };

/** One request with the case's client. Resolves with status and bytes, fails as the client fails. */
export const send = (context, path, options = {}) =>
  ways[context.client](context, new URL(path, context.origin).href, { method: 'POST', ...options });
