/** What each HTTP client sends and gets: recorded equal to what the server received and sent, the program's view equal. */
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundlePreload, type Outcome, runProgram, type SinkExchange } from '../endings/harness.ts';
import { inRepository } from '../helpers/repository.ts';
import { startWireServer, type WireServer } from './wire-server.mjs';

const program = inRepository('test/wire/wire-program.mjs');
let server: WireServer;
let preload: { file: string; remove: () => void };
let runs = 0;

beforeAll(async () => {
  [server, preload] = await Promise.all([startWireServer(), bundlePreload()]);
});
afterAll(async () => {
  preload.remove();
  await server.close();
});

interface Both {
  bare: Outcome;
  tapped: Outcome;
  run: string;
}

async function bothWays(client: string, kind: string, form: string): Promise<Both> {
  const name = (): string => `run${String(runs++).padStart(4, '0')}`;
  const [first, run] = [name(), name()];
  const [bare, tapped] = await Promise.all([
    runProgram(program, { args: [client, kind, server.url(form, first)] }),
    runProgram(program, { nodeArgs: ['--require', preload.file], args: [client, kind, server.url(form, run)] }),
  ]);
  bare.stdout = comparable(bare.stdout, first);
  tapped.stdout = comparable(tapped.stdout, run);
  return { bare, tapped, run };
}

/** Multipart boundaries and ports differ from run to run. */
function comparable(text: string, run: string): string {
  return text.replaceAll(run, 'run');
}

const received = (run: string): WireServer['received'] => server.received.filter((r) => r.url.includes(`/${run}/`));

function expectAsReceived({ bare, tapped, run }: Both, endings?: string[]): SinkExchange[] {
  expect(tapped.stderr).toBe(bare.stderr);
  expect(tapped.stdout).toBe(bare.stdout);
  expect(tapped.stdout).not.toContain('"error"');
  const sent = received(run);
  expect(tapped.exchanges.map((e) => e.requestHeaders?.flat())).toEqual(sent.map((r) => r.rawHeaders));
  expect(tapped.exchanges.map((e) => e.requestBody)).toEqual(sent.map((r) => r.body.toString()));
  expect(tapped.exchanges.map((e) => e.url)).toEqual(sent.map((r) => `http://127.0.0.1:${server.port}${r.url}`));
  const ends = endings ?? sent.map(() => 'complete');
  expect(tapped.exchanges.map((e) => e.ends.map(({ ending }) => ending).join())).toEqual(ends);
  expect(tapped.exchanges.length).toBeGreaterThan(0);
  return tapped.exchanges;
}

const bodies: [client: string, kind: string][] = [
  ...['text', 'bytes', 'stream', 'form', 'none', 'array'].map((kind): [string, string] => ['fetch', kind]),
  ...['text', 'bytes', 'stream', 'encoded', 'none', 'array'].map((kind): [string, string] => ['http', kind]),
  ['http-named', 'text'],
  ['http-expect', 'expect'],
  ['http-agent', 'text'],
  ['axios', 'text'],
  ['axios', 'stream'],
  ['got', 'text'],
  ['node-fetch', 'text'],
  ['node-fetch', 'stream'],
  ['node-fetch-2', 'text'],
  ['follow-redirects', 'text'],
  ...['5', '6', '7'].flatMap((v): [string, string][] => [
    [`undici-${v}`, 'text'],
    [`undici-${v}`, 'stream'],
    [`undici-${v}`, 'form'],
    [`undici-${v}-fetch`, 'text'],
    [`undici-${v}-fetch`, 'form'],
    [`undici-${v}-pool`, 'text'],
  ]),
];

/** From Node.js 24 on, `request` of an installed undici goes by the platform's own, which takes no forms of others. */
const isRefused = (client: string, kind: string): boolean =>
  Number(process.versions.node.split('.', 1)[0]) >= 24 && kind === 'form' && /^undici-\d$/.test(client);

describe('requests', () => {
  it.for(bodies)('%s sending a body of kind %s is recorded as the server received it', async ([client, kind]) => {
    if (isRefused(client, kind)) {
      const { bare, tapped } = await bothWays(client, kind, 'plain');
      expect(bare.stdout).toContain('"error"');
      expect([tapped.stdout, tapped.stderr]).toEqual([bare.stdout, bare.stderr]);
      return;
    }
    const exchanges = expectAsReceived(await bothWays(client, kind, 'plain'));
    for (const { responseBody } of exchanges) expect(responseBody).toBe(server.text);
  });

  it('records the trailers of a request', async () => {
    const { tapped, run } = await bothWays('http', 'stream', 'plain');
    expect(received(run)[0]?.rawTrailers).toEqual(['x-sent', 'yes']);
    expect(tapped.exchanges[0]?.requestTrailers).toEqual([['x-sent', 'yes']]);
  });
});

describe('responses', () => {
  const forms = ['chunked', 'trailers', 'empty', 'hints', 'close'];
  const users = ['fetch', 'http', 'axios', 'got', 'node-fetch', 'undici-7'];
  it.for(forms.flatMap((form) => users.map((client): [string, string] => [client, form])))(
    '%s getting an answer of form %s sees it as without the tap',
    async ([client, form]) => {
      const [exchange] = expectAsReceived(await bothWays(client, 'text', form));
      expect(exchange?.responseBody).toBe(form === 'empty' ? '' : server.text);
      expect(exchange?.responseTrailers).toEqual(form === 'trailers' ? [['x-sum', '42']] : undefined);
      if (form === 'hints') expect(exchange?.informational).toEqual([102, 103]);
    },
  );

  it.for(['fetch', 'http', 'axios', 'got', 'node-fetch', 'undici-7'])(
    '%s getting compressed bytes: they are recorded compressed',
    async (client) => {
      const both = await bothWays(client, 'text', 'gzip');
      expect(both.tapped.stdout).toBe(both.bare.stdout);
      const [exchange] = both.tapped.exchanges;
      expect(gunzipSync(Buffer.from(exchange?.responseBase64 ?? '', 'base64')).toString()).toBe(server.text);
    },
  );

  // Clients that follow redirects themselves on top of `http` throw the first answer's body away.
  it.for([
    ['fetch', 'complete'],
    ['undici-7-fetch', 'complete'],
    ['got', 'complete'],
    ['axios', 'caller_stopped_reading'],
    ['node-fetch', 'caller_stopped_reading'],
    ['follow-redirects', 'caller_stopped_reading'],
  ])('%s following a redirect gives one exchange a hop', async ([client = '', first = '']) => {
    const both = await bothWays(client, 'text', 'redirect');
    const exchanges = expectAsReceived(both, [first, 'complete']);
    expect(exchanges.map((e) => e.status)).toEqual([307, 200]);
  });

  it.for(['fetch', 'http'])('%s getting a 304 completes', async (client) => {
    const [exchange] = expectAsReceived(await bothWays(client, 'text', 'unchanged'));
    expect(exchange?.status).toBe(304);
  });

  it('records duplicate headers, their case and their order', async () => {
    for (const client of ['fetch', 'http']) {
      const { tapped } = await bothWays(client, 'text', 'plain');
      const list = tapped.exchanges[0]?.responseHeaders?.filter(([name]) => /cookie|odd|type/i.test(name));
      expect(list).toEqual([
        ['Set-Cookie', 'a=1'],
        ['Set-Cookie', 'b=2'],
        ['Content-Type', 'application/json'],
        ['X-Odd', 'caf\u00e9'],
      ]);
      expect(tapped.exchanges[0]?.statusText).toBe('Fine');
    }
  });

  it('gives one exchange for each request on a reused connection', async () => {
    const { tapped, run } = await bothWays('http-agent', 'text', 'plain');
    expect(new Set(received(run).map((r) => r.port)).size).toBe(1);
    expect(tapped.exchanges.length).toBe(3);
  });

  it('ends an upgraded connection with its head', async () => {
    const { bare, tapped } = await bothWays('http-upgrade', 'text', 'plain');
    expect(tapped.stdout).toBe(bare.stdout);
    expect(tapped.exchanges.map((e) => [e.status, e.ends[0]?.ending])).toEqual([[101, 'upgraded']]);
  });
});

describe('libraries that answer requests in the process', () => {
  it.for(['nock', 'msw'])('%s: an answer that it makes up yields nothing', async (name) => {
    const { bare, tapped, run } = await bothWays(`${name}-made-up`, 'text', 'plain');
    expect(tapped.stdout).toBe(bare.stdout);
    expect(tapped.stdout).not.toContain('"error"');
    expect(received(run)).toEqual([]);
    expect(tapped.exchanges).toEqual([]);
  });

  it.for([
    ['nock', 1],
    ['msw', 2],
  ] as const)('%s: what it lets through is recorded', async ([name, count]) => {
    const { bare, tapped, run } = await bothWays(`${name}-let-through`, 'text', 'plain');
    expect(tapped.stdout).toBe(bare.stdout);
    expect(received(run).length).toBe(count);
    expect(tapped.exchanges.map((e) => [e.requestBody, e.responseBody])).toEqual(
      received(run).map((r) => [r.body.toString(), server.text]),
    );
    expect(tapped.exchanges.map((e) => e.ends.map(({ ending }) => ending))).toEqual(
      received(run).map(() => ['complete']),
    );
  });
});
