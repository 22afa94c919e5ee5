/**
 * Sends requests one after the other with one client, waiting for each answer. Arguments: client, kind of body, base URL.
 * It knows nothing of Orangebox.
 */
import http from 'node:http';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [client, kind, url] = process.argv.slice(2);
const require = createRequire(new URL('../../programs/clients/package.json', import.meta.url));
const json = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x'.repeat(3000) }] });
const headers = { 'content-type': 'application/json' };
const halves = [Buffer.from(json.slice(0, 1000)), Buffer.from(json.slice(1000))];
const method = 'POST';

async function* generated() {
  for (const half of halves) {
    yield half;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function form(FormDataClass, BlobClass = Blob) {
  const data = new FormDataClass();
  data.append('model', 'whisper');
  data.append('file', new BlobClass(['sound'], { type: 'audio/wav' }), 'a.wav');
  return data;
}

function init(FormDataClass = FormData) {
  if (kind === 'form') return { method, body: form(FormDataClass) };
  if (kind === 'none') return { method };
  if (kind === 'stream') return { method, headers, body: generated(), duplex: 'half' };
  if (kind === 'blob') return { method, headers, body: new Blob([json]) };
  return { method, headers, body: kind === 'bytes' ? Buffer.from(json) : json };
}

const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

async function nodeRequest() {
  const length = kind === 'sized' ? { 'content-length': Buffer.byteLength(json) } : {};
  const request = http.request(url, { method, agent, headers: { ...headers, ...length } });
  const answered = new Promise((resolve, reject) => {
    request.on('error', reject).on('response', (response) => response.on('end', resolve).resume());
  });
  if (kind === 'stream' || kind === 'sized') {
    for await (const half of generated()) request.write(half);
    request.end();
  } else if (kind === 'written') {
    request.write(json);
    request.end();
  } else request.end(kind === 'none' ? undefined : json);
  return answered;
}

const load = async (name) => (await import(pathToFileURL(require.resolve(name)).href)).default;
const undici = client.startsWith('undici') ? require(client) : undefined;
const send =
  {
    fetch: async () => (await fetch(url, init())).text(),
    http: nodeRequest,
    axios: async () => (await load('axios')).post(url, json, { headers, httpAgent: agent }),
    got: async () => (await load('got')).post(url, { body: json, headers, agent: { http: agent } }),
    'node-fetch-2': async () => (await require('node-fetch-2')(url, { method, body: json, headers, agent })).text(),
    'follow-redirects': nodeRequest,
  }[client] ?? (async () => (await undici.request(url, init(undici.FormData))).body.text());

for (let i = 0; i < 4; i++) await send();
process.stdout.write('done');
