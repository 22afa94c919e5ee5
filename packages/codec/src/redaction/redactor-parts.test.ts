import { describe, expect, it } from 'vitest';
import type { HeaderList } from '@orangebox/schema';
import { createRedactor, isCredentialHeader, isSecretEnvName, secretsOfEnvironment } from '../index.ts';

describe('headers', () => {
  it('lose credentials and keep schemes, names, order and duplicates', () => {
    const headers: HeaderList = [
      ['Authorization', 'Bearer abc.def'],
      ['x-api-key', 'abc.def'],
      ['Cookie', 'a=1; b=two'],
      ['Set-Cookie', 'sid=abc123; Path=/; HttpOnly'],
      ['Set-Cookie', 'other=1'],
      ['content-type', 'application/json'],
      ['Location', 'https://u:p@host.example/x?sig=abc&page=2'],
    ];
    const { headers: out, redactions } = createRedactor({ secrets: [] }).headers(headers, 'request');
    expect(out).toEqual([
      ['Authorization', 'Bearer {{secret:authorization}}'],
      ['x-api-key', '{{secret:authorization}}'],
      ['Cookie', 'a={{secret:cookie}}; b={{secret:cookie.2}}'],
      ['Set-Cookie', 'sid={{secret:set-cookie}}; Path=/; HttpOnly'],
      ['Set-Cookie', 'other={{secret:cookie}}'],
      ['content-type', 'application/json'],
      ['Location', 'https://{{secret:userinfo}}@host.example/x?sig={{secret:sig}}&page=2'],
    ]);
    expect(redactions).toContainEqual({ where: 'header:authorization', token: '{{secret:authorization}}', count: 1 });
    expect(redactions.reduce((sum, redaction) => sum + redaction.count, 0)).toBe(8);
  });

  it('make a cookie that was sent known again, where it looks like a token', () => {
    const redactor = createRedactor({ secrets: [] });
    redactor.headers([['cookie', 'sid=Zx81kLmN0pQ4fT9qWe7r; theme=dark-and-quiet-and-blue']], 'request');
    const { text } = redactor.text('you sent Zx81kLmN0pQ4fT9qWe7r and dark-and-quiet-and-blue');
    expect(text).toBe('you sent {{secret:cookie}} and dark-and-quiet-and-blue');
  });

  it('covers URLs without scheme and host, as in redirects and HTTP/2', () => {
    const headers: HeaderList = [
      ['location', '/v2/x?api_key=key-of-a-redirect&page=2'],
      [':path', '/v1/x?token=token-of-a-path'],
      ['content-location', 'x'],
    ];
    const redacted = createRedactor({ secrets: [] }).headers(headers, 'response');
    expect(redacted.headers).toEqual([
      ['location', '/v2/x?api_key={{secret:api_key}}&page=2'],
      [':path', '/v1/x?token={{secret:token}}'],
      ['content-location', 'x'],
    ]);
    expect(redacted.redactions.map(({ where }) => where)).toEqual(['header:location', 'header::path']);
  });

  it('are the same array where nothing is secret', () => {
    const headers: HeaderList = [
      ['idempotency-key', 'abc'],
      ['x-ratelimit-remaining-tokens', '5'],
      ['x-amzn-bedrock-input-token-count', '7'],
      ['openai-organization', 'org-1'],
      ['www-authenticate', 'Bearer realm="x"'],
    ];
    const redacted = createRedactor({ secrets: [] }).headers(headers, 'response');
    expect(redacted.headers).toBe(headers);
    expect(redacted.redactions).toEqual([]);
  });

  it('are credentials by their names', () => {
    for (const name of ['proxy-authorization', 'API-Key', 'x-goog-api-key', 'X-Amz-Security-Token', 'x-vault-token']) {
      expect(isCredentialHeader(name), name).toBe(true);
    }
    for (const name of ['sec-websocket-key', 'anthropic-ratelimit-tokens-limit', 'x-request-id', 'mcp-session-id']) {
      expect(isCredentialHeader(name), name).toBe(false);
    }
  });

  it('with a secret of the environment under any name lose it, and keep its name in the token', () => {
    const redactor = createRedactor({ secrets: [{ name: 'env.MY_KEY', value: 'my-very-secret-key' }] });
    const { headers } = redactor.headers(
      [
        ['x-debug', 'used my-very-secret-key'],
        ['authorization', 'Bearer my-very-secret-key'],
      ],
      'request',
    );
    expect(headers.map((header) => header[1])).toEqual(['used {{secret:env.MY_KEY}}', 'Bearer {{secret:env.MY_KEY}}']);
  });
});

describe('credentials of headers and URLs', () => {
  it('are found again in bodies and errors', () => {
    const redactor = createRedactor({ secrets: [] });
    redactor.headers([['authorization', 'Bearer given-in-the-code']], 'request');
    redactor.url('https://host.example/?key=AIzaSyGivenInTheCode');
    expect(redactor.text('invalid key given-in-the-code, or AIzaSyGivenInTheCode').text).toBe(
      'invalid key {{secret:authorization}}, or {{secret:key}}',
    );
  });

  it('that change with every request do not pile up', () => {
    const redactor = createRedactor({ secrets: [] });
    for (let i = 0; i < 200; i++) redactor.headers([['authorization', `Bearer signed-for-request-${i}`]], 'request');
    expect(redactor.text('signed-for-request-199').text).toBe('{{secret:authorization.200}}');
    expect(redactor.text('signed-for-request-100').text).toBe('signed-for-request-100');
  });
});

describe('URLs', () => {
  const cases: [url: string, expected: string][] = [
    ['https://api.example.com/v1/chat', 'https://api.example.com/v1/chat'],
    ['https://user:pass@h.example/p?a=1', 'https://{{secret:userinfo}}@h.example/p?a=1'],
    ['https://h.example/p?key=a%20b&model=x', 'https://h.example/p?key={{secret:key}}&model=x'],
    [
      'https://h.example/p?API-Key=a#access_token=b',
      'https://h.example/p?API-Key={{secret:api-key}}#access_token={{secret:access_token}}',
    ],
    [
      'https://h.example/p?X-Amz-Signature=aa&X-Amz-Date=1',
      'https://h.example/p?X-Amz-Signature={{secret:x-amz-signature}}&X-Amz-Date=1',
    ],
    ['https://h.example/p?code=&token', 'https://h.example/p?code=&token'],
    ['https://h.example/a@b?max_tokens=5', 'https://h.example/a@b?max_tokens=5'],
  ];
  for (const [url, expected] of cases) {
    it(`become ${expected}`, () => {
      const redacted = createRedactor({ secrets: [] }).url(url);
      expect(redacted.url).toBe(expected);
      expect(() => new URL(redacted.url)).not.toThrow();
      expect(redacted.redactions.every((redaction) => redaction.where === 'url')).toBe(true);
    });
  }
});

describe('texts', () => {
  it('lose credentials in URLs, after schemes and in JSON', () => {
    const { text, redactions } = createRedactor({ secrets: [] }).text(
      'GET https://u:p@h.example/?sig=1 with Authorization: Bearer abcdefgh1 {"api_key":"k"}',
    );
    expect(text).toBe(
      'GET https://{{secret:userinfo}}@h.example/?sig={{secret:sig}} with Authorization: Bearer {{secret:authorization}} {"api_key":"{{secret:api_key}}"}',
    );
    expect(redactions).toHaveLength(4);
    expect(redactions.every((redaction) => redaction.where === 'error')).toBe(true);
  });

  it('that hold nothing stay the same, lone surrogates included', () => {
    expect(createRedactor({ secrets: [] }).text('cut \ud83d here').text).toBe('cut \ud83d here');
  });
});

describe('environment variables', () => {
  it('are secrets by their names and from 12 bytes on', () => {
    for (const name of [
      'OPENAI_API_KEY',
      'GITHUB_TOKEN',
      'DB_PASSWORD',
      'APP_SECRET',
      'npm_config_authtoken',
      'DB_PWD',
    ]) {
      expect(isSecretEnvName(name), name).toBe(true);
    }
    for (const name of ['PATH', 'PWD', 'OLDPWD', 'HOME', 'NODE_OPTIONS'])
      expect(isSecretEnvName(name), name).toBe(false);
    expect(secretsOfEnvironment({ A_KEY: 'long-enough-1', B_KEY: 'short', HOME: '/users/someone/x' })).toEqual([
      { name: 'env.A_KEY', value: 'long-enough-1' },
    ]);
  });

  it('takes the credentials out of variables that hold headers', () => {
    const list =
      'x-team=payments-europe,Authorization=Bearer%20collector-token-1, x-api-key=collector-key-22,api-key=short';
    expect(secretsOfEnvironment({ OTEL_EXPORTER_OTLP_HEADERS: list, HEADERS_NOTE: list })).toEqual([
      { name: 'env.OTEL_EXPORTER_OTLP_HEADERS.Authorization', value: 'collector-token-1' },
      { name: 'env.OTEL_EXPORTER_OTLP_HEADERS.x-api-key', value: 'collector-key-22' },
    ]);
  });
});
