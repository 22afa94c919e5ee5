import { describe, expect, it } from 'vitest';
import { concatBytes, createRedactor, toBase64, utf8, utf8Text } from '../index.ts';

const SECRET = 'sk-proj-4fT9/q+"Zx\\81kLmN0pQ';
const secrets = [{ name: 'env.OPENAI_API_KEY', value: SECRET }];

/** Pushes a body in pieces of a size and joins what comes back. */
function redact(body: string, size: number, options = { secrets }): string {
  const redactor = createRedactor(options).body();
  const bytes = utf8(body);
  const out: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size) out.push(...redactor.push(bytes.subarray(at, at + size)));
  out.push(...redactor.end());
  expect(out).toHaveLength(Math.ceil(bytes.length / size));
  return utf8Text(concatBytes(out)) ?? 'not UTF-8';
}

const nested = (value: unknown, depth: number): string => {
  let text = JSON.stringify(value);
  for (let i = 0; i < depth; i++) text = JSON.stringify({ arguments: text });
  return text;
};

describe('a body redactor', () => {
  const bodies: [name: string, body: string, expected: string][] = [
    ['a raw secret', `x ${SECRET} y`, 'x {{secret:env.OPENAI_API_KEY}} y'],
    ['a secret in JSON', nested({ a: SECRET }, 0), nested({ a: '{{secret:env.OPENAI_API_KEY}}' }, 0)],
    ['a secret in JSON in JSON in JSON', nested({ a: SECRET }, 2), nested({ a: '{{secret:env.OPENAI_API_KEY}}' }, 2)],
    ['a secret in a URL', `u=${encodeURIComponent(SECRET)}&b`, 'u={{secret:env.OPENAI_API_KEY}}&b'],
    ['a credential field', '{"api_key": "abc", "b": 1}', '{"api_key": "{{secret:api_key}}", "b": 1}'],
    [
      'a credential field with its scheme',
      '{"authorization":"Bearer abc"}',
      '{"authorization":"Bearer {{secret:authorization}}"}',
    ],
    [
      'a credential field, nested',
      nested({ p: 1, password: 'a"b\\' }, 3),
      nested({ p: 1, password: '{{secret:password}}' }, 3),
    ],
    [
      'two credential fields',
      '{"password":"a","x":{"password":"b"},"password":"a"}',
      '{"password":"{{secret:password}}","x":{"password":"{{secret:password.2}}"},"password":"{{secret:password}}"}',
    ],
    [
      'a form',
      'a=b&client_secret=x%20y&code=9&z=1',
      'a=b&client_secret={{secret:client_secret}}&code={{secret:code}}&z=1',
    ],
    [
      'a multipart form',
      '--b\r\nContent-Disposition: form-data; name="api_key"\r\n\r\nabc\r\n--b\r\nContent-Disposition: form-data; name="f"\r\n\r\nabc\r\n--b--\r\n',
      '--b\r\nContent-Disposition: form-data; name="api_key"\r\n\r\n{{secret:api_key}}\r\n--b\r\nContent-Disposition: form-data; name="f"\r\n\r\nabc\r\n--b--\r\n',
    ],
    [
      'the headers of an MCP tool',
      '{"tools":[{"headers":{"X-A":"v1","n":{"b":["v2"]}},"type":"mcp","authorization":"t"}],"headers":{"X-A":"v1"}}',
      '{"tools":[{"headers":{"X-A":"{{secret:x-a}}","n":{"b":["{{secret:b}}"]}},"type":"mcp","authorization":"{{secret:authorization}}"}],"headers":{"X-A":"v1"}}',
    ],
  ];
  for (const [name, body, expected] of bodies) {
    it(`replaces ${name}, however it is cut`, () => {
      for (const size of [1, 2, 3, 5, 7, 16, 33, 1000]) expect(redact(body, size)).toBe(expected);
    });
  }

  it('replaces a secret in base64 at each alignment', () => {
    for (const before of ['', 'a', 'ab', 'abc']) {
      const text = redact(`"${toBase64(utf8(`${before}${SECRET}tail`))}"`, 4);
      expect(text).toContain('{{secret:env.OPENAI_API_KEY}}');
    }
  });
});
