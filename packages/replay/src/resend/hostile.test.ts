import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { snapshotDigest } from '@orangebox/codec';
import { OrangeboxError, type Snapshot } from '@orangebox/schema';
import { createDirectoryStore, decodePayload, sha256 } from '@orangebox/store';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { replayRecorded } from '../replay-recorded.ts';
import { rehydrate } from '../rehydrate.ts';
import { serveRecorded } from '../serve-recorded.ts';
import { startProvider, type TestProvider } from '../testing/provider.ts';
import { recorded, recordedCall, type TestAttempt } from '../testing/recordings.ts';
import { resend } from './resend.ts';

const KEYS = {
  OPENAI_API_KEY: 'sk-hostile-openai-0123456789',
  ANTHROPIC_API_KEY: 'sk-hostile-anthropic-0123456789',
  AZURE_OPENAI_API_KEY: 'hostile-azure-0123456789abcdef',
  AZURE_OPENAI_ENDPOINT: 'https://mine.openai.azure.com',
  GEMINI_API_KEY: 'hostile-gemini-0123456789abcdef',
};

let trap: TestProvider;
let directory: string;
const connected: string[] = [];
const original = net.Socket.prototype.connect;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'obx-hostile-'));
  trap = await startProvider((_request, response) => response.end('{}'));
  // Notes every socket that anything here opens.
  net.Socket.prototype.connect = function connect(this: net.Socket, ...args: unknown[]): net.Socket {
    connected.push(JSON.stringify(args[0]));
    return Reflect.apply(original, this, args) as net.Socket;
  } as typeof original;
});
beforeEach(() => {
  connected.length = 0;
  trap.seen.length = 0;
});
afterAll(async () => {
  net.Socket.prototype.connect = original;
  await trap.close();
  rmSync(directory, { recursive: true });
});

const auth: [string, string] = ['authorization', 'Bearer {{secret:header.authorization}}'];

function hostile(attempt: TestAttempt): Snapshot {
  return recorded({ requestHeaders: [auth], ...attempt });
}

/** A snapshot changed by whoever made it, with a digest that fits. */
function forged(change: (snapshot: Snapshot) => void): Snapshot {
  const snapshot = structuredClone(hostile({}));
  change(snapshot);
  return { ...snapshot, digest: snapshotDigest(snapshot, sha256) };
}

const urls: [string, string][] = [
  ['a host that looks like the provider', 'https://api.openai.com.evil.example/v1/chat/completions'],
  ['the provider as user name', 'https://api.openai.com@evil.example/v1/chat/completions'],
  ['a user name in front of the provider', 'https://x:y@api.openai.com/v1/chat/completions'],
  [
    'a name that anyone can have at the cloud',
    'https://evil.openai.azure.com/openai/deployments/d/chat/completions?api-version=1',
  ],
  ['the provider without encryption', 'http://api.openai.com/v1/chat/completions'],
  ['the provider on another port', 'https://api.openai.com:8443/v1/chat/completions'],
  ['the metadata service of the cloud', 'http://169.254.169.254/latest/meta-data/v1/chat/completions'],
  ['a file', 'file:///etc/passwd'],
  ['a backslash that some parsers take for a slash', 'https://evil.example\\@api.openai.com/v1/chat/completions'],
  ['a line end that hides a header', 'https://api.openai.com/v1/chat/completions\r\nx-evil: 1'],
  ['an encoded line end', 'https://api.openai.com/v1/chat/completions%0d%0aGET%20/'],
  ['an encoded slash that leads to another operation', 'https://api.openai.com/v1/files%2f..%2fchat/completions'],
];

describe('hostile recordings', () => {
  for (const [what, url] of urls) {
    it(`name ${what}: nothing is sent`, async () => {
      const error: unknown = await resend(hostile({ url }), { env: KEYS }).catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(OrangeboxError);
      expect((error as OrangeboxError).code).toMatch(/^OBX_RESEND_(?:HOST|URL)$/);
      expect(connected).toEqual([]);
    });
  }

  it('climb out of the path to another operation: it is seen where it ends, and refused', async () => {
    const url = 'https://api.openai.com/v1/chat/completions/../../../v1/files/chat/../x';
    await expect(resend(hostile({ url }), { env: KEYS })).rejects.toMatchObject({ code: 'OBX_RESEND_EFFECTS' });
    expect(connected).toEqual([]);
  });

  it('cannot change the host of an explicit base URL', async () => {
    for (const path of [
      '//evil.example/chat/completions',
      '/@evil.example/chat/completions',
      '/v1/../../chat/completions',
    ]) {
      const snapshot = hostile({ url: `https://api.openai.com${path}` });
      await resend(snapshot, { baseUrl: `${trap.url}/v1`, env: KEYS }).catch((error: unknown) => error);
    }
    expect(connected.every((target) => target.includes('127.0.0.1'))).toBe(true);
    expect(trap.seen.length).toBeGreaterThan(0);
    for (const { headers } of trap.seen) expect(headers.host).toBe(new URL(trap.url).host);
  });

  it('get no other credential than the one of their provider, whatever their headers ask for', async () => {
    const requestHeaders: [string, string][] = [
      auth,
      ['x-api-key', '{{secret:env.ANTHROPIC_API_KEY}}'],
      ['api-key', '{{secret:env.AZURE_OPENAI_API_KEY}}'],
      ['x-leak', '{{secret:env.GEMINI_API_KEY}}'],
      ['cookie', '{{secret:env.OPENAI_API_KEY}}'],
    ];
    await resend(hostile({ requestHeaders }), { baseUrl: trap.url, env: KEYS });
    const sent = trap.seen[0]?.rawHeaders.join('\n') ?? '';
    expect(sent).toContain(`Bearer ${KEYS.OPENAI_API_KEY}`);
    for (const [name, value] of Object.entries(KEYS)) if (name !== 'OPENAI_API_KEY') expect(sent).not.toContain(value);
  });

  it('without a credential on record get none', async () => {
    await resend(recorded({ requestHeaders: [['x-a', '1']] }), { baseUrl: trap.url, env: KEYS });
    expect(trap.seen[0]?.headers.authorization).toBeUndefined();
  });

  it('cannot have secrets filled into their body or path', async () => {
    const body = '{"model":"m","messages":[{"role":"user","content":"{{secret:env.OPENAI_API_KEY}}"}]}';
    const listed = recordedCall({
      attempts: [{ requestHeaders: [auth], requestBody: body }],
      redactions: [{ where: 'request.body', token: '{{secret:env.OPENAI_API_KEY}}', count: 1 }],
    });
    await expect(resend(listed, { env: KEYS })).rejects.toMatchObject({ code: 'OBX_RESEND_REDACTED' });
    await resend(hostile({ requestBody: body }), { baseUrl: trap.url, env: KEYS });
    expect(trap.seen[0]?.body.toString()).toBe(body);
    const url = 'https://api.openai.com/v1/{{secret:env.OPENAI_API_KEY}}/chat/completions';
    await expect(resend(hostile({ url }), { env: KEYS })).rejects.toMatchObject({ code: 'OBX_RESEND_REDACTED' });
  });

  it('with control characters in headers or method are not sent, and none reach a client', async () => {
    const requestHeaders: [string, string][] = [auth, ['x-a', 'b\r\nhost: evil.example']];
    const bad = hostile({
      requestHeaders,
      responseHeaders: [
        ['x-b', 'c\r\nset-cookie: d'],
        ['x\u0000y', 'z'],
      ],
      response: ['{}'],
    });
    await expect(resend(bad, { env: KEYS, baseUrl: trap.url })).rejects.toMatchObject({ code: 'OBX_RESEND_HEADER' });
    await expect(resend(hostile({ method: 'POST / HTTP/1.1\r\nx:' }), { env: KEYS })).rejects.toMatchObject({
      code: 'OBX_RESEND_METHOD',
    });
    expect(connected).toEqual([]);
    const server = await serveRecorded(bad);
    const answer = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      body: '{"model":"gpt-4o-mini","messages":[{"role":"user","content":"Hi"}]}',
    });
    expect([...answer.headers.keys()]).not.toContain('set-cookie');
    expect(answer.status).toBe(200);
    await server.close();
  });

  it('name paths in their ids and texts: nothing is written outside the store', async () => {
    const base = join(directory, 'store');
    const store = createDirectoryStore(base);
    for (const change of [
      (snapshot: Snapshot) => {
        snapshot.id = snapshot.trace.spanId = '../../../../x';
      },
      (snapshot: Snapshot) => {
        snapshot.trace.traceId = `${'../'.repeat(10)}xx`;
      },
      (snapshot: Snapshot) => {
        snapshot.time.startUnixNano = '../../../../../etc';
      },
    ]) {
      await expect(store.put(forged(change))).rejects.toMatchObject({ code: 'OBX_SNAPSHOT_SHAPE' });
    }
    await expect(store.get('v1/../../../../etc/passwd')).resolves.toBeUndefined();
    const named = forged((snapshot) => {
      snapshot.process.serviceName = '../../evil';
      snapshot.metadata = { path: '/etc/cron.d/evil', command: '$(touch evil)' };
    });
    expect(await store.put(named)).toMatch(/^v1\//);
    expect(readdirSync(directory)).toEqual(['store']);
    expect(readdirSync(base)).toEqual(['v1']);
  });

  it('state huge sizes or unpack to them: refused before the memory is taken', async () => {
    const stated = forged(() => undefined);
    (stated.exchanges[0] as Snapshot['exchanges'][number]).request.body = {
      form: 'text',
      sizeBytes: 2 ** 50,
      text: 'x',
    };
    await expect(rehydrate(stated)).rejects.toMatchObject({ code: expect.stringMatching(/^OBX_SNAPSHOT_/) });
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
    expect(bomb.length).toBeLessThan(100_000);
    await expect(decodePayload(bomb, 'bomb', 1024 * 1024)).rejects.toMatchObject({ code: 'OBX_SNAPSHOT_TOO_LARGE' });
    const deep = `{"schema":"orangebox.snapshot/1","metadata":${'['.repeat(5000)}${']'.repeat(5000)}}`;
    await expect(decodePayload(Buffer.from(deep), 'deep')).rejects.toMatchObject({ code: 'OBX_SNAPSHOT_SHAPE' });
  });

  it('answer with redirects and links to elsewhere: a replay opens no socket', async () => {
    const replay = await replayRecorded(
      hostile({ status: 302, responseHeaders: [['location', `${trap.url}/steal`]], response: [] }),
    );
    expect(replay.refusedSockets).toBe(0);
    expect(connected).toEqual([]);
    expect(trap.seen).toEqual([]);
  });
});
