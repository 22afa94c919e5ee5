/** A program that hardens its realm before it does anything: what is frozen stays usable, and as it was. */
import http from 'node:http';

// Not the errors: Node.js itself assigns over what they inherit, and breaks.
const roots = [Object, Array, Function, Promise, Map, Set, WeakMap, RegExp, Date, Symbol, JSON, Math, Reflect];
const { Response, Headers, Request, URL: PlatformURL, AbortController: Aborter } = globalThis;
const classes = [Response, Headers, Request, PlatformURL, Aborter, Buffer];
for (const root of [...roots, ...classes]) {
  Object.freeze(root);
  if (root.prototype !== undefined) Object.freeze(root.prototype);
}
const { Agent, ClientRequest, IncomingMessage, OutgoingMessage } = http;
for (const { prototype } of [Agent, ClientRequest, IncomingMessage, OutgoingMessage]) Object.freeze(prototype);
Object.freeze(globalThis.fetch);

const url = `${process.env.OPENAI_BASE_URL}/chat/completions`;
const body = JSON.stringify({ model: 'gpt-test', messages: [{ role: 'user', content: 'hello' }] });
const headers = { 'content-type': 'application/json', authorization: 'Bearer sk-test' };
const response = await fetch(url, { method: 'POST', headers, body });
console.log(response.status, response.constructor.name, await response.json());
await new Promise((resolve) => {
  http
    .request(url, { method: 'POST', headers }, (answer) => {
      console.log(answer.statusCode, answer.rawHeaders.length);
      answer.resume().on('close', resolve);
    })
    .end(body);
});
console.log(Object.isFrozen(Promise.prototype), Object.isFrozen(http.ClientRequest.prototype));
