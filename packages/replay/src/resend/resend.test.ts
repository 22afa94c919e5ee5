import { decodeBody } from '@orangebox/codec';
import type { Snapshot } from '@orangebox/schema';
import { verifySnapshot } from '@orangebox/store';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ANSWER } from '../../../store/src/testing/write-segments.ts';
import { startProvider, type TestProvider } from '../testing/provider.ts';
import { recorded, type TestAttempt } from '../testing/recordings.ts';
import type { ResendPlan } from '../types.ts';
import { VERSION } from '../version.ts';
import { resend } from './resend.ts';

const KEY = 'sk-test-0123456789abcdef';
const env = { OPENAI_API_KEY: KEY };
// Numbers, spaces and characters that a second JSON.stringify would change.
const body =
  '{"model":"gpt-4o", "temperature":1.0,\n "messages":[{"role":"user","content":"Gr\\u00fc\u00dfe \u{1f6b2}"}]}';

let provider: TestProvider;
beforeEach(async () => {
  provider = await startProvider((request, response) => {
    response.setHeader('content-type', 'application/json');
    if (request.url.includes('redirect')) {
      response.writeHead(307, { location: 'http://127.0.0.1:9/steal' }).end();
    } else if (request.url.includes('echo')) response.end(JSON.stringify(request.headers));
    else if (request.url.includes('cut')) {
      response.write('{"object"', () => response.destroy());
    } else if (!request.url.includes('silent')) response.end(ANSWER);
  });
});
afterEach(() => provider.close());

function call(attempt: TestAttempt = {}): Snapshot {
  return recorded({ requestBody: body, ...attempt });
}

describe('a resent request', () => {
  it('has the recorded bytes, and its answer is a snapshot without the credential', async () => {
    const original = call();
    const result = await resend(original, { baseUrl: `${provider.url}/v1`, env });
    expect(provider.seen).toHaveLength(1);
    expect(provider.seen[0]?.body.toString()).toBe(body);
    expect(provider.seen[0]).toMatchObject({ method: 'POST', url: '/v1/chat/completions' });
    expect(provider.seen[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
    const snapshot = result.calls[0]?.snapshot as Snapshot;
    expect(verifySnapshot(snapshot, 'resent')).toEqual(snapshot);
    expect(snapshot.metadata).toEqual({ 'orangebox.resend.of': original.id });
    expect(snapshot.exchanges[0]).toMatchObject({ ending: 'complete', response: { status: 200 } });
    expect(
      Buffer.from(decodeBody(snapshot.exchanges[0]?.response?.body ?? { form: 'empty', sizeBytes: 0 })).toString(),
    ).toBe(ANSWER);
    expect(JSON.stringify(result)).not.toContain(KEY);
  });

  it('keeps no secret of the environment and nothing that a pattern matches, and says who made it', async () => {
    const other = 'other-token-of-mine-7';
    const result = await resend(
      call({
        url: 'https://api.openai.com/v1/chat/completions?echo=1',
        requestHeaders: [
          ['X-Note', other],
          ['X-Mail', 'anna@example.com'],
        ],
      }),
      { baseUrl: provider.url, env: { ...env, OTHER_TOKEN: other }, redactPatterns: [/[a-z]+@example\.com/] },
    );
    expect(provider.seen[0]?.headers).toMatchObject({ 'x-note': other, 'x-mail': 'anna@example.com' });
    const { snapshot } = result.calls[0] ?? {};
    expect(JSON.stringify(snapshot)).not.toMatch(/other-token|anna@/);
    expect(JSON.stringify(snapshot)).toContain('{{secret:env.OTHER_TOKEN}}');
    expect(snapshot?.process).toMatchObject({ pid: process.pid, node: process.version, orangebox: VERSION });
  });

  it('keeps header order and duplicates, renews trace and idempotency, leaves out baggage and cookies, and lists it', async () => {
    const plans: ResendPlan[] = [];
    const requestHeaders: [string, string][] = [
      ['Host', 'api.openai.com'],
      ['X-Zed', '1'],
      ['traceparent', `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`],
      ['tracestate', 'vendor=1'],
      ['baggage', 'user=7'],
      ['Idempotency-Key', 'stainless-node-retry-1'],
      ['X-Alpha', 'one'],
      ['X-Alpha', 'two'],
      ['Cookie', '{{secret:header.cookie}}'],
      ['x-stainless-retry-count', '2'],
      ['Authorization', 'Bearer {{secret:header.authorization}}'],
      ['Content-Length', '999'],
      ['Connection', 'keep-alive'],
    ];
    await resend(call({ requestHeaders }), {
      n: 2,
      baseUrl: provider.url,
      env,
      confirm: (plan) => {
        plans.push(plan);
        return true;
      },
    });
    const [first, second] = provider.seen;
    const names = first?.rawHeaders.filter((_, i) => i % 2 === 0);
    expect(names).toEqual([
      ...['host', 'X-Zed', 'traceparent', 'Idempotency-Key', 'X-Alpha', 'X-Alpha', 'x-stainless-retry-count'],
      ...['authorization', 'content-length', 'connection'],
    ]);
    expect(first?.headers['traceparent']).toMatch(/^00-(?!a{32})[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    expect(first?.headers['idempotency-key']).toMatch(/^stainless-node-retry-[0-9a-f-]{36}$/);
    expect(second?.headers['idempotency-key']).not.toBe(first?.headers['idempotency-key']);
    expect(second?.headers['traceparent']).not.toBe(first?.headers['traceparent']);
    expect(first?.headers['x-stainless-retry-count']).toBe('0');
    expect(plans).toEqual([
      expect.objectContaining({
        n: 2,
        model: 'gpt-4o',
        bodySizeBytes: Buffer.byteLength(body),
        credential: { header: 'authorization', variable: 'OPENAI_API_KEY' },
        renewed: ['traceparent', 'idempotency-key', 'x-stainless-retry-count'],
        dropped: ['tracestate', 'baggage', 'cookie'],
      }),
    ]);
    expect(JSON.stringify(plans)).not.toContain(KEY);
  });

  it('is not sent when the asker says no', async () => {
    const asked = resend(call(), { baseUrl: provider.url, env, confirm: () => false });
    await expect(asked).rejects.toMatchObject({ code: 'OBX_RESEND_DECLINED' });
    expect(provider.seen).toEqual([]);
  });

  it('is sent to a base that overlaps the recorded path, or that has another', async () => {
    for (const base of ['/v1', '/v1/', '', '/gateway/openai'])
      await resend(call(), { baseUrl: provider.url + base, env });
    expect(provider.seen.map(({ url }) => url)).toEqual([
      '/v1/chat/completions',
      '/v1/chat/completions',
      '/v1/chat/completions',
      '/gateway/openai/v1/chat/completions',
    ]);
  });

  it('takes a redirect for the answer and follows none', async () => {
    const url = 'https://api.openai.com/v1/redirect/chat/completions';
    const result = await resend(call({ url }), { baseUrl: provider.url, env });
    expect(result.calls[0]?.snapshot.exchanges[0]?.response?.status).toBe(307);
    expect(provider.seen).toHaveLength(1);
  });

  it('records an echoed credential as a token', async () => {
    const url = 'https://api.openai.com/v1/echo/chat/completions';
    const result = await resend(call({ url }), { baseUrl: provider.url, env });
    expect(JSON.stringify(result)).not.toContain(KEY);
    expect(result.calls[0]?.snapshot.redactions.map(({ where }) => where)).toContain('response.body');
  });

  it('records how a failure ended', async () => {
    const at = (path: string): string => `https://api.openai.com/v1/${path}/chat/completions`;
    const cut = await resend(call({ url: at('cut') }), { baseUrl: provider.url, env });
    expect(cut.calls[0]?.snapshot.exchanges[0]).toMatchObject({
      ending: 'cut',
      stage: 'response_body',
      response: { body: { text: '{"object"' } },
    });
    const late = await resend(call({ url: at('silent') }), { baseUrl: provider.url, env, timeoutMs: 50 });
    expect(late.calls[0]?.snapshot).toMatchObject({ error: { code: 'ETIMEDOUT' }, exchanges: [{ ending: 'timeout' }] });
    const { url } = provider;
    await provider.close();
    const refused = await resend(call(), { baseUrl: url, env });
    expect(refused.calls[0]?.snapshot).toMatchObject({
      error: { code: 'ECONNREFUSED' },
      exchanges: [{ ending: 'connect_failed' }],
    });
  });
});

describe('effects on the server', () => {
  const responses = 'https://api.openai.com/v1/responses';
  const refusedBodies: [string, string | undefined, string][] = [
    ['{"model":"m","store":true}', undefined, 'store'],
    ['{"model":"m","input":"x","conversation":"conv_1"}', responses, 'conversation'],
    ['{"model":"m","input":"x","background":true}', responses, 'background'],
    ['{"model":"m","tools":[{"type":"mcp","server_url":"https://x"}]}', responses, '"mcp"'],
    [
      '{"model":"m","tools":[{"type":"code_interpreter","container":{"type":"auto"}}]}',
      responses,
      '"code_interpreter"',
    ],
    ['{"model":"m","tools":[{"type":"of_the_future"}]}', responses, '"of_the_future"'],
    ['{"model":"m","prompt":{"id":"pmpt_1"}}', responses, 'prompt'],
    ['{"model":"m","mcp_servers":[{"url":"https://x"}]}', 'https://api.anthropic.com/v1/messages', 'mcp_servers'],
    [
      '{"contents":[],"tools":[{"codeExecution":{}}]}',
      'https://generativelanguage.googleapis.com/v1beta/models/g:generateContent',
      '"codeExecution"',
    ],
    ['{"model":"m","store":false,"store":true}', undefined, 'cannot be read'],
    ['{"name":"x"}', 'https://api.openai.com/v1/assistants', 'no operation'],
    ['not json', undefined, 'cannot be read'],
  ];

  it('are found and refused, and allowed when asked for', async () => {
    for (const [requestBody, url, says] of refusedBodies) {
      const original = call({ requestBody, ...(url === undefined ? {} : { url }) });
      const options = { baseUrl: provider.url, env };
      await expect(resend(original, options)).rejects.toMatchObject({
        code: 'OBX_RESEND_EFFECTS',
        message: expect.stringContaining(says),
      });
    }
    expect(provider.seen).toEqual([]);
    await resend(call({ requestBody: '{"model":"m","store":true}' }), {
      baseUrl: provider.url,
      env,
      allowEffects: true,
    });
    expect(provider.seen).toHaveLength(1);
  });

  it('are not seen in requests that only answer', async () => {
    const harmless: [string, string][] = [
      ['{"model":"m","store":false,"input":"x","previous_response_id":"resp_1"}', responses],
      [
        '{"model":"m","tools":[{"type":"function","function":{"name":"f"}},{"type":"custom","name":"c"}]}',
        'https://api.openai.com/v1/chat/completions',
      ],
      [
        '{"model":"m","max_tokens":1,"tools":[{"name":"f","input_schema":{}}]}',
        'https://api.anthropic.com/v1/messages',
      ],
      [
        '{"contents":[],"tools":[{"functionDeclarations":[]}]}',
        'https://generativelanguage.googleapis.com/v1beta/models/g:generateContent',
      ],
      ['{"model":"m","input":"x"}', 'https://api.openai.com/v1/embeddings'],
    ];
    for (const [requestBody, url] of harmless) {
      const { plan } = await resend(call({ requestBody, url }), { baseUrl: provider.url, env });
      expect([requestBody, plan.effects]).toEqual([requestBody, []]);
    }
  });

  it('are said where the provider has them by default', async () => {
    const { plan } = await resend(call({ requestBody: '{"model":"m","input":"x"}', url: responses }), {
      baseUrl: provider.url,
      env,
    });
    expect(plan.effects).toEqual([expect.stringContaining('as is its default')]);
  });
});
