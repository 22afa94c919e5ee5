import { request as httpRequest } from 'node:http';
import { createHash } from 'node:crypto';
import { OrangeboxError, type SessionRef, type Snapshot, snapshotKey } from '@orangebox/schema';
import { createMemoryStore, type SnapshotStore, type StoredEntry } from '@orangebox/store';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ANSWER, type TestAttempt, TestSegments } from '../../../store/src/testing/write-segments.ts';
import { type SnapshotPage, startSnapshotPage } from './serve.ts';

interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

let page: SnapshotPage;
let store: SnapshotStore;

beforeEach(async () => {
  store = createMemoryStore('memory <here>');
  page = await startSnapshotPage({ store, port: 0, words: { options: '--store s3://b/p' } });
});
afterEach(() => page.stop());

/** Asks as no browser would: any method, path and headers. */
function ask(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { host: '127.0.0.1', port: page.port, path, method, headers: { host: `127.0.0.1:${page.port}`, ...headers } },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks).toString('utf8'),
          }),
        );
      },
    );
    request.on('error', reject);
    request.end();
  });
}

async function keep(
  attempt: TestAttempt = {},
  more: Partial<Snapshot> = {},
  session?: SessionRef,
): Promise<{ snapshot: Snapshot; path: string }> {
  const snapshot = {
    ...new TestSegments('unused').call({ attempts: [attempt], ...(session ? { session } : {}) }),
    ...more,
  };
  await store.put(snapshot);
  return { snapshot, path: `/t/${snapshot.trace.traceId}/${snapshot.trace.spanId}` };
}

describe('the page of a span', () => {
  it('shows the conversation, the exchange, the facts and what to type next', async () => {
    const { snapshot, path } = await keep();
    const { status, body } = await ask(path);
    expect(status).toBe(200);
    expect(body).toContain('chat gpt-4o-mini');
    expect(body).toMatch(/<article class="message user">[\s\S]*Hi<\/pre>/);
    expect(body).toContain('content-type');
    expect(body).toContain('exact: every byte of the wire');
    const ref = `${snapshot.trace.traceId}:${snapshot.trace.spanId}`;
    for (const name of ['show', 'replay', 'resend', 'fetch'])
      expect(body).toContain(`<code>orangebox ${name} ${ref} --store s3://b/p</code>`);
  });

  it('is found with ids in upper case and without their leading zeros', async () => {
    const call = new TestSegments('unused').call({ traceId: `00${'a'.repeat(30)}`, spanId: `0${'b'.repeat(15)}` });
    await store.put(call);
    expect((await ask(`/t/${'A'.repeat(30)}/${'b'.repeat(15)}?from=ui`)).body).toContain('gpt-4o-mini');
  });

  it('is found by the key of the snapshot in the place of the span id, encoded or not: Jaeger links have no span id', async () => {
    const { snapshot } = await keep();
    const key = snapshotKey(snapshot);
    for (const name of [key, encodeURIComponent(key)]) {
      expect(await ask(`/t/${snapshot.trace.traceId}/${name}`), name).toMatchObject({
        status: 200,
        body: expect.stringContaining('gpt-4o-mini'),
      });
    }
    expect(await ask(`/t/${snapshot.trace.traceId}/v1/..%2f..%2fetc`)).toMatchObject({ status: 404 });
    expect(await ask('/t/%ff/%')).toMatchObject({ status: 404 });
  });

  it('lists the calls of a trace, each with its link', async () => {
    const segments = new TestSegments('unused');
    const traceId = 'c'.repeat(32);
    const calls = [segments.call({ traceId }), segments.call({ traceId, attempts: [{ status: 500 }] })];
    for (const call of calls) await store.put(call);
    const { status, body } = await ask(`/t/${traceId}`);
    expect(status).toBe(200);
    for (const call of calls) expect(body).toContain(`href="/t/${traceId}/${call.trace.spanId}"`);
    expect(body).toContain('1 failed');
  });

  it('gives bodies and the whole snapshot as text to save, byte for byte', async () => {
    const { snapshot, path } = await keep();
    const raw = await ask(`${path}/raw/0/response`);
    expect(raw.body).toBe(ANSWER);
    expect(raw.headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'content-disposition': `attachment; filename="${snapshot.id}-response-0.txt"`,
      'x-content-type-options': 'nosniff',
    });
    expect(JSON.parse((await ask(`${path}/snapshot.json`)).body)).toMatchObject({ digest: snapshot.digest });
    expect((await ask(`${path}/raw/7/response`)).status).toBe(404);
  });
});

describe('the first page', () => {
  it('lists the newest 50 calls, each with its link, and no canary', async () => {
    expect((await ask('/')).body).toContain('None yet');
    const segments = new TestSegments('unused');
    const session = { id: 'trip <7>', seq: 0, basis: 'declared' as const };
    const calls = Array.from({ length: 52 }, (_, i) => segments.call({ startMs: 1e12 + i, session }));
    const canary = segments.call({ startMs: 2e12, session: { ...session, id: 'orangebox-canary' } });
    for (const call of [...calls, canary]) await store.put(call);
    const { status, body } = await ask('/');
    expect(status).toBe(200);
    const links = [...body.matchAll(/href="(\/t\/[0-9a-f]{32}\/[0-9a-f]{16})"/g)].map(([, path]) => path);
    const newest = calls.slice(2).reverse();
    expect(links).toEqual(newest.map(({ trace }) => `/t/${trace.traceId}/${trace.spanId}`));
    for (const text of ['>2001-09-09 01:46:40<', 'trip &lt;7&gt;', 'chat gpt-4o-mini', '>200<', 'The newest 50'])
      expect(body).toContain(text);
    expect(body).not.toContain('orangebox-canary');
  });

  it('lists the last hour of a place that is searched by time only, and says what cannot be asked', async () => {
    const list = store.list.bind(store);
    const { snapshot } = await keep();
    const startMs = Number(BigInt(snapshot.time.startUnixNano) / 1_000_000n);
    const asked: (number | undefined)[] = [];
    store.list = async function* (filter = {}) {
      asked.push(filter.sinceUnixMs);
      if (filter.sinceUnixMs === undefined) throw new OrangeboxError('OBX_STORE_SINCE_REQUIRED', 'by time only');
      yield* list({ ...filter, sinceUnixMs: startMs });
    };
    const { body } = await ask('/');
    expect(body).toContain(`href="/t/${snapshot.trace.traceId}/${snapshot.trace.spanId}"`);
    expect(body).not.toContain('by time only');
    expect(Math.abs(Date.now() - 3_600_000 - (asked[0] ?? 0))).toBeLessThan(60_000);
    store.list = () => {
      throw new OrangeboxError('OBX_SOURCE_UNREACHABLE', 'no <answer>');
    };
    expect(await ask('/')).toMatchObject({ status: 200, body: expect.stringContaining('no &lt;answer&gt;') });
  });
});

describe('a hostile recording', () => {
  const HTML = `"'><script>alert(1)</script><img src=x onerror=alert(1)>`;
  const BIDI = 'gpj.\u202eexe \u200b\u0007';

  it('is text wherever it stands: bodies, headers, urls, names, errors', async () => {
    const { path } = await keep(
      {
        url: `https://api.openai.com/v1/chat/completions?q=${HTML}`,
        requestHeaders: [[`x-${HTML}`, `${HTML}${BIDI}`]],
        requestBody: JSON.stringify({
          model: `${HTML}${BIDI}`,
          messages: [
            { role: HTML, content: `${HTML}${BIDI}` },
            { role: 'assistant', tool_calls: [{ id: HTML, type: HTML, function: { name: HTML, arguments: HTML } }] },
            { role: 'tool', tool_call_id: HTML, content: HTML },
          ],
          tools: [{ type: 'function', function: { name: HTML } }],
        }),
        status: 418,
        statusText: HTML,
        response: [JSON.stringify({ error: { message: HTML, type: HTML, code: HTML } })],
      },
      {},
      { id: `${HTML}${BIDI}`, seq: 0, basis: 'declared' },
    );
    for (const address of [path, path.slice(0, path.lastIndexOf('/')), '/']) {
      const { status, body } = await ask(address);
      expect(status).toBe(200);
      expect(body).toContain('&lt;script&gt;');
      expect(body.split('<script').length + body.split('<img').length).toBe(2);
      expect(body).not.toMatch(/<[^>]*\son\w+=/i);
      expect(body).not.toMatch(/[\u202e\u200b\u0007]/);
      expect(body).toContain('<span class="hidden-char">\\u202e</span>');
    }
  });

  it('that is huge is cut with a note, and is there whole as a file', async () => {
    const long = 'x'.repeat(3_000_000);
    const messages = Array.from({ length: 600 }, (_, i) => ({ role: 'user', content: `${i} ${'y'.repeat(10_000)}` }));
    const { path } = await keep({
      requestBody: JSON.stringify({ model: 'm', messages }),
      response: [JSON.stringify({ choices: [{ index: 0, message: { role: 'assistant', content: long } }] })],
    });
    const { body } = await ask(path);
    expect(body.length).toBeLessThan(4_000_000);
    expect(body).toContain('more characters');
    expect((await ask(`${path}/raw/0/response`)).body.length).toBeGreaterThan(long.length);
  });

  it('of bytes that are no text is shown as hex with its size', async () => {
    const { path } = await keep({ response: [Uint8Array.from({ length: 1000 }, (_, i) => (i * 7) % 256)] });
    const { body } = await ask(path);
    expect(body).toContain('1000 B that are no text, the first 256 of them');
    expect(body).toContain('000000  00 07 0e');
  });
});

describe('what everything goes out with', () => {
  it('lets nothing run, frame, sniff, refer, be kept or be read by others', async () => {
    const { path } = await keep();
    for (const address of ['/', path, '/t/zz', `/t/${'0'.repeat(32)}`, `${path}/snapshot.json`]) {
      const { headers } = await ask(address);
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
        'cross-origin-resource-policy': 'same-origin',
        'cross-origin-opener-policy': 'same-origin',
        'cache-control': 'no-store',
      });
      const names = Object.keys(headers).filter((name) => name.startsWith('access-control-') || name === 'set-cookie');
      expect(names).toEqual([]);
    }
  });

  it('names its one style sheet by hash, and has nothing else inline', async () => {
    const { path } = await keep();
    const { headers, body } = await ask(path);
    const style = /<style>([\s\S]*?)<\/style>/.exec(body)?.[1] ?? '';
    const hash = createHash('sha256').update(style).digest('base64');
    expect(headers['content-security-policy']).toBe(
      `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    );
    expect(body).not.toMatch(/\sstyle=|<script|<link|src=/);
  });
});

describe('who is answered', () => {
  it('is nobody who calls this server by another name or port', async () => {
    for (const host of [
      'evil.test',
      `evil.test:${page.port}`,
      '127.0.0.1',
      '127.0.0.1:1',
      `127.0.0.1.evil.test:${page.port}`,
      `x@127.0.0.1:${page.port}`,
    ]) {
      expect(await ask('/', { host }), host).toMatchObject({ status: 421 });
    }
    for (const host of [`localhost:${page.port}`, `LOCALHOST:${page.port}`, `[::1]:${page.port}`]) {
      expect(await ask('/', { host }), host).toMatchObject({ status: 200 });
    }
  });

  it('is a browser that followed a link from a trace UI, but no script, frame or file of another site', async () => {
    const { path } = await keep();
    const link = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
    for (const site of ['cross-site', 'same-site']) {
      const from = { 'sec-fetch-site': site };
      expect(await ask(path, { ...from, ...link }), site).toMatchObject({ status: 200 });
      expect(await ask(path, { ...from, ...link, 'sec-fetch-dest': 'iframe' })).toMatchObject({ status: 403 });
      expect(await ask(path, { ...from, 'sec-fetch-mode': 'cors' })).toMatchObject({ status: 403 });
      expect(await ask(path, { ...from, 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' })).toMatchObject({
        status: 403,
      });
      expect(await ask(`${path}/snapshot.json`, { ...from, ...link })).toMatchObject({ status: 403 });
    }
    for (const site of ['same-origin', 'none']) {
      expect(await ask(`${path}/snapshot.json`, { 'sec-fetch-site': site, ...link })).toMatchObject({ status: 200 });
    }
    expect(await ask(path, { origin: 'https://evil.test' })).toMatchObject({ status: 403 });
    expect(await ask(path, { origin: 'null' })).toMatchObject({ status: 403 });
  });

  it('is nobody who wants to change something', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
      expect(await ask('/', {}, method)).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
    }
    expect(await ask('/', {}, 'HEAD')).toMatchObject({ status: 200, body: '' });
  });
});

describe('a call that cannot be shown', () => {
  const entryOf = async (change: Partial<StoredEntry>): Promise<{ path: string }> => {
    const { snapshot, path } = await keep();
    const list = store.list.bind(store);
    store.list = async function* (filter) {
      for await (const entry of list(filter)) yield { ...entry, ...change };
    };
    store.load = () => Promise.reject(new OrangeboxError('OBX_SNAPSHOT_LOST', `nothing under ${snapshot.id} <b>`));
    return { path };
  };

  it('has a page that says that nothing is known, and what to do', async () => {
    for (const address of [`/t/${'1'.repeat(32)}`, `/t/${'1'.repeat(32)}/${'2'.repeat(16)}`]) {
      const { status, body } = await ask(address);
      expect(status).toBe(404);
      expect(body).toContain('memory &lt;here&gt;');
      expect(body).toContain('orangebox doctor');
    }
    for (const address of ['/t', '/t/xyz', '/t/1/2/3', '/../etc/passwd', '/favicon.ico'])
      expect(await ask(address), address).toMatchObject({ status: 404 });
  });

  it('is waited for while its span is young, and lost afterwards', async () => {
    const now = `${Date.now()}000000`;
    const young = await entryOf({ status: 'promised', time: { startUnixNano: now, endUnixNano: now } });
    expect(await ask(young.path)).toMatchObject({ status: 503, headers: { refresh: '5' } });
    const old = await entryOf({ status: 'promised', time: { startUnixNano: '1', endUnixNano: '2' } });
    const { status, headers, body } = await ask(old.path);
    expect([status, headers['refresh']]).toEqual([404, undefined]);
    expect(body).toContain('<h1>Lost</h1>');
    expect(body).toContain('&lt;b&gt;');
  });

  it('says of a store that does not answer that it does not, and of damage that it is damage', async () => {
    const { path } = await keep();
    store.load = () => Promise.reject(new OrangeboxError('OBX_SNAPSHOT_DIGEST', 'changed'));
    expect(await ask(path)).toMatchObject({ status: 500, body: expect.stringContaining('Damaged') });
    store.load = () => Promise.reject(new TypeError('secret detail'));
    expect((await ask(path)).body).not.toContain('secret detail');
    // oxlint-disable-next-line require-yield
    store.list = async function* () {
      throw new OrangeboxError('OBX_STORE_UNREACHABLE', 's3 is away', { hint: 'wait' });
    };
    expect(await ask(path)).toMatchObject({ status: 502, body: expect.stringContaining('s3 is away') });
  });

  it('takes a port that is in use for an error with a hint', async () => {
    await expect(startSnapshotPage({ store, port: page.port })).rejects.toMatchObject({
      code: 'OBX_SERVE_PORT',
      hint: expect.stringContaining('--port'),
    });
  });
});
