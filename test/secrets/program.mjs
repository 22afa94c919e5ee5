/** The program of the secrets drill: carries out every placement. Knows nothing of the recorder but its public API. */
import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { session, tool } from 'orangebox';

const { placements, origin, refusedOrigin } = JSON.parse(readFileSync(process.argv[2], 'utf8'));

/** What each call gave the program, to compare with its replay. */
const received = {};

const chat = (content, extra = {}) =>
  JSON.stringify({ model: 'drill-model', messages: [{ role: 'user', content }], ...extra });

function nest(field, value, depth) {
  let inner = { [field]: value, note: 'kept' };
  for (let i = 0; i < depth; i += 1) inner = { wrapped: JSON.stringify(inner) };
  return inner;
}

function viaHttp(url, headers, body, auth) {
  return new Promise((resolve, reject) => {
    const req = request(url, { method: 'POST', headers, ...(auth ? { auth } : {}) }, (res) => {
      const chunks = [];
      res.on('data', (chunk) => chunks.push(chunk));
      res.on('end', () => {
        received[headers['x-drill']] = Buffer.concat(chunks).toString('base64');
        resolve();
      });
      res.on('error', reject);
    });
    req.on('error', reject);
    req.end(body);
  });
}

async function viaFetch(url, headers, body) {
  const response = await fetch(url, {
    method: 'POST',
    headers,
    body,
    ...(body instanceof ReadableStream ? { duplex: 'half' } : {}),
  });
  received[headers['x-drill']] = Buffer.from(await response.arrayBuffer()).toString('base64');
}

function slowly(text) {
  const bytes = Buffer.from(text);
  let i = 0;
  return new ReadableStream({
    pull(controller) {
      if (i >= bytes.length) controller.close();
      else controller.enqueue(new Uint8Array(bytes.subarray(i, (i += 1))));
    },
  });
}

async function run(p) {
  const url = `${origin}/v1/chat/completions`;
  const headers = { 'content-type': 'application/json', 'x-drill': String(p.n) };
  switch (p.kind) {
    case 'request-header': {
      const value = p.name.endsWith('authorization')
        ? `Bearer ${p.value}`
        : p.name === 'cookie'
          ? `sid=${p.value}; theme=dark`
          : p.value;
      if (p.via === 'http' || p.name === 'cookie') return viaHttp(url, { ...headers, [p.name]: value }, chat('hi'));
      return viaFetch(url, { ...headers, [p.name]: value }, chat('hi'));
    }
    case 'response-header':
      return p.via === 'http' ? viaHttp(url, headers, chat('hi')) : viaFetch(url, headers, chat('hi'));
    case 'url': {
      const full = `${url}?api-version=1&${p.name}=${encodeURIComponent(p.value)}&x=1`;
      return p.via === 'http' ? viaHttp(full, headers, chat('hi')) : viaFetch(full, headers, chat('hi'));
    }
    case 'url-userinfo':
      return viaHttp(url, headers, chat('hi'), `user:${p.value}`);
    case 'body-field':
      return viaFetch(url, headers, chat('hi', { extra: nest(p.field, p.value, p.depth) }));
    case 'mcp-authorization':
      return viaFetch(
        `${origin}/v1/responses`,
        headers,
        JSON.stringify({
          model: 'drill-model',
          input: 'hi',
          tools: [{ type: 'mcp', server_label: 'crm', server_url: 'https://crm.example/mcp', authorization: p.value }],
        }),
      );
    case 'mcp-header':
      return viaFetch(
        `${origin}/v1/responses`,
        headers,
        JSON.stringify({
          model: 'drill-model',
          input: 'hi',
          tools: [
            {
              type: 'mcp',
              server_label: 'crm',
              server_url: 'https://crm.example/mcp',
              headers: { 'X-Crm': p.value, Accept: 'a/b' },
            },
          ],
        }),
      );
    case 'form-field':
      return viaFetch(
        url,
        { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
        new URLSearchParams({ model: 'drill-model', [p.field]: p.value }).toString(),
      );
    case 'env-in-request':
      return viaFetch(
        url,
        headers,
        p.pieces === 'bytes' ? slowly(chat(`my key is ${p.value}`)) : chat(`my key is ${p.value}`),
      );
    case 'refused-url':
      return viaFetch(
        `${refusedOrigin}/v1/chat/completions?${p.name}=${encodeURIComponent(p.value)}`,
        headers,
        chat('hi'),
      ).catch(() => {});
    case 'wrapped-tool': {
      const work = tool('lookup', async (input) => {
        if (p.part === 'error') throw new Error(`denied for ${p.value}`);
        return p.part === 'result' ? { credential: p.value } : String(input.length);
      });
      return work(p.part === 'args' ? `use ${p.value}` : 'x').catch(() => {});
    }
    case 'metadata':
      return session({ id: `s-${p.n}`, metadata: { note: `with ${p.value}` } }, () =>
        viaFetch(url, headers, chat('hi')),
      );
    default:
      return viaFetch(url, headers, chat('hi'));
  }
}

for (const p of placements) await run(p);
writeFileSync(process.argv[3], JSON.stringify(received));
