import { describe, expect, it } from 'vitest';
import {
  concatBytes,
  createRedactor,
  PATTERN_WINDOW_BYTES,
  type Redactor,
  toBase64,
  utf8,
  utf8Text,
} from '../index.ts';

const KEY = 'sk-proj-4fT9/q+"Zx\\81k&%é<mN0pQ';
const TOKEN = '{{secret:env.KEY}}';
const secrets = [{ name: 'env.KEY', value: KEY }];

function chunks(redactor: Redactor, parts: readonly (string | Uint8Array)[]): string[] {
  const body = redactor.body('response.body');
  const out = parts.flatMap((part) => body.push(typeof part === 'string' ? utf8(part) : part));
  return [...out, ...body.end()].map((chunk) => utf8Text(chunk) ?? 'not UTF-8');
}

function joined(redactor: Redactor, parts: readonly Uint8Array[]): string {
  const body = redactor.body('response.body');
  const out = parts.flatMap((part) => body.push(part));
  return utf8Text(concatBytes([...out, ...body.end()])) ?? 'not UTF-8';
}

function inPieces(text: string, size: number): Uint8Array[] {
  const bytes = utf8(text);
  const parts: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size) parts.push(bytes.subarray(at, at + size));
  return parts;
}

describe('chunks', () => {
  it('come back at once and as the same arrays where they are clean', () => {
    const body = createRedactor({ secrets, patterns: [] }).body();
    for (const text of ['data: {"choices":[{"delta":{"content":"token"}}]}\n\n', '{"a":1}', '', 'sk-other\n']) {
      const chunk = utf8(text);
      expect(body.push(chunk)[0]).toBe(chunk);
    }
    expect(body.end()).toEqual([]);
    expect(body.redactions).toEqual([]);
  });

  it('are held only while a secret may still begin in them', () => {
    const body = createRedactor({ secrets }).body();
    expect(body.push(utf8('a sk-pro'))).toEqual([]);
    expect(body.heldBytes).toBe(8);
    expect(body.push(utf8('mise')).map(utf8Text)).toEqual(['a sk-pro', 'mise']);
    expect(body.heldBytes).toBe(0);
  });

  it('have a secret where it began; those within it come back empty', () => {
    expect(
      chunks(createRedactor({ secrets }), ['x ', `y ${KEY.slice(0, 4)}`, KEY.slice(4, 9), `${KEY.slice(9)} z`, 'w']),
    ).toEqual(['x ', `y ${TOKEN}`, '', ' z', 'w']);
  });

  it('count a secret once, however many chunks it lay in', () => {
    const body = createRedactor({ secrets }).body('response.body');
    for (const part of inPieces(`${KEY} "password":"x" ${KEY}`, 1)) body.push(part);
    body.end();
    expect(body.redactions).toEqual([
      { where: 'response.body', token: TOKEN, count: 2 },
      { where: 'response.body', token: '{{secret:password}}', count: 1 },
    ]);
  });

  it('of bytes that are no text are searched too', () => {
    const bytes = concatBytes([Uint8Array.from([0xff, 0x00, 0xfe]), utf8(KEY), Uint8Array.from([0x80])]);
    const body = createRedactor({ secrets }).body();
    expect(concatBytes([...body.push(bytes), ...body.end()])).toEqual(
      concatBytes([Uint8Array.from([0xff, 0x00, 0xfe]), utf8(TOKEN), Uint8Array.from([0x80])]),
    );
  });
});

describe('a known secret', () => {
  const json = JSON.stringify(KEY).slice(1, -1);
  const forms: [name: string, text: string][] = [
    ['raw', KEY],
    ['JSON', json],
    ['JSON in JSON', JSON.stringify(json).slice(1, -1)],
    ['JSON with escaped slashes', json.replaceAll('/', '\\/')],
    ['JSON in ASCII', json.replace('é', '\\u00e9')],
    ['JSON safe in HTML', json.replace('&', '\\u0026').replace('<', '\\u003c')],
    ['a URL', encodeURIComponent(KEY)],
    ['a URL in lower case', encodeURIComponent(KEY).replace(/%../g, (hex) => hex.toLowerCase())],
    ['a form', new URLSearchParams({ k: KEY }).toString().slice(2)],
  ];
  for (const [name, form] of forms) {
    it(`is found as ${name}`, () => {
      for (const size of [1, 4, 1000]) {
        expect(joined(createRedactor({ secrets }), inPieces(`<${form}>`, size))).toBe(`<${TOKEN}>`);
      }
    });
  }

  it('is found in base64 of something longer, at each alignment and in the URL’s alphabet', () => {
    for (const before of ['', 'a', 'ab']) {
      const text = toBase64(utf8(`${before}${KEY} and more`));
      for (const form of [text, text.replaceAll('+', '-').replaceAll('/', '_')]) {
        const found = joined(createRedactor({ secrets }), inPieces(form, 3));
        expect(found).toContain(TOKEN);
        expect(Buffer.from(found.replace(TOKEN, ''), 'base64').toString('latin1')).not.toContain('proj');
      }
    }
  });

  it('is not searched for when it is shorter than 12 bytes', () => {
    const redactor = createRedactor({ secrets: [{ name: 'env.SHORT', value: 'true-or-not' }] });
    expect(redactor.text('true-or-not').text).toBe('true-or-not');
  });

  it('is found when it was added later, also in a body that has begun', () => {
    const redactor = createRedactor({ secrets: [] });
    const body = redactor.body();
    body.push(utf8('begun '));
    redactor.addSecrets(secrets);
    expect(body.push(utf8(`${KEY}.`)).map(utf8Text)).toEqual([`${TOKEN}.`]);
  });
});

describe('what is no credential', () => {
  const untouched = [
    '{"logprobs":{"content":[{"token":" the","logprob":-0.1,"top_logprobs":[{"token":"secret","bytes":[1]}]}]}}',
    '{"max_tokens":10,"usage":{"total_tokens":20},"token":"Hello","key":"value","name":"password"}',
    '{"properties":{"password":{"type":"string"},"api_key":{"type":"string"}},"required":["password","api_key"]}',
    '{"password":null,"api_key":"","access_token":12,"authorization":{"type":"none"}}',
    '{"next_page_token":"CAoQAA0123456789abcdefgh","signature":"EqQBCgIYAhIM1gbcDa9GJwZA2b3h","encrypted_content":"gAAAA"}',
    '{"headers":{"Content-Type":"text/html","Server":"nginx"},"status":200}',
    '{"content":"Say: \\"password\\": is a word, and api_key: too"}',
    '{"text":"the \\"token\\": \\"Hello\\""}',
    '{"api_key":"{{secret:api_key}}","password":"<redacted>"}',
    'x=1;y=2 is no form',
    'data: {"type":"response.mcp_call","headers":null,"authorization":null}\n\n',
  ];
  for (const body of untouched) {
    it(`stays byte for byte: ${body.slice(0, 60)}`, () => {
      for (const size of [1, 5, 1000]) {
        expect(joined(createRedactor({ secrets }), inPieces(body, size))).toBe(body);
      }
    });
  }
});

describe('values without an end', () => {
  it('are replaced up to the end of the body', () => {
    expect(chunks(createRedactor({ secrets: [] }), ['{"password":"abc', 'def']).join('')).toBe(
      '{"password":"{{secret:password}}',
    );
  });

  it('are replaced without being held for ever, and what follows them is kept', () => {
    for (const quote of ['"', '\\"']) {
      // A backslash and a quote as the value of the string, written as JSON at the depth.
      const value = (quote === '"' ? 'a\\\\\\"' : 'a\\\\\\\\\\\\\\"').repeat(40_000);
      const text = `{${quote}password${quote}:${quote}${value}${quote},${quote}b${quote}:1}`;
      const body = createRedactor({ secrets: [] }).body();
      let most = 0;
      const out: Uint8Array[] = [];
      for (const part of inPieces(text, 1001)) {
        out.push(...body.push(part));
        most = Math.max(most, body.heldBytes);
      }
      out.push(...body.end());
      expect(utf8Text(concatBytes(out))).toBe(
        `{${quote}password${quote}:${quote}{{secret:password}}${quote},${quote}b${quote}:1}`,
      );
      expect(most).toBeLessThan(70_000);
    }
  });

  it('of forms and multipart forms too', () => {
    const long = 'v'.repeat(200_000);
    const redactor = createRedactor({ secrets: [] });
    expect(joined(redactor, inPieces(`a=1&client_secret=${long}&b=2`, 999))).toBe(
      'a=1&client_secret={{secret:client_secret}}&b=2',
    );
    const head = '--b\r\nContent-Disposition: form-data; name="password"\r\n\r\n';
    expect(joined(redactor, inPieces(`${head}${long}\r\n--b--\r\n`, 999))).toBe(
      `${head}{{secret:password}}\r\n--b--\r\n`,
    );
  });
});

describe('patterns of the user', () => {
  const patterns = [/acct-[a-z0-9]+-end/, /Straße \d+/gi];

  it('match across the borders of chunks and keep equal matches equal', () => {
    const text = 'x acct-abc-end y acct-def-end Größe: straße 12 acct-abc-end z';
    const expected = 'x {{secret:pattern1}} y {{secret:pattern1.2}} Größe: {{secret:pattern2}} {{secret:pattern1}} z';
    for (const size of [1, 3, 10, 1000]) {
      expect(joined(createRedactor({ secrets: [], patterns }), inPieces(text, size))).toBe(expected);
    }
  });

  it('hold as many bytes as their window and no more', () => {
    const body = createRedactor({ secrets: [], patterns }).body();
    let most = 0;
    for (const part of inPieces('n'.repeat(20_000), 100)) {
      body.push(part);
      most = Math.max(most, body.heldBytes);
    }
    expect(most).toBeLessThanOrEqual(PATTERN_WINDOW_BYTES + 200);
  });

  it('match in bytes that are no text', () => {
    const body = createRedactor({ secrets: [], patterns }).body();
    const bytes = concatBytes([Uint8Array.from([0xff]), utf8('acct-abc-end')]);
    const out = concatBytes([...body.push(bytes), ...body.end()]);
    expect(utf8Text(out.subarray(1))).toBe('{{secret:pattern1}}');
  });
});

it('gives the same bytes however a body is cut, for thousands of bodies', () => {
  let state = 7;
  const next = (n: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
  const pieces = [
    '{"', '":"', '"', '\\', '\\"', '{', '}', '[', ']', ',', ':', ' ', '\n', 'api_key', 'password', 'headers', 'token',
    '"headers":{"a":"b"}', '"type":"mcp"', '"authorization":"Bearer abc"', '\\"api_key\\":\\"v\\"', KEY, KEY.slice(0, 9),
    JSON.stringify(KEY), 'é', '&', '=', 'client_secret=', 'acct-abc-end', '--b\r\n', '\r\n\r\n', '\r\n--b', 'name="password"',
    'Content-Disposition: form-data; name="api_key"\r\n\r\n', 'x'.repeat(50),
  ]; // biome-ignore format: a list of pieces
  for (let round = 0; round < 3000; round++) {
    const text = Array.from({ length: 1 + next(25) }, () => pieces[next(pieces.length)]).join('');
    const patterns = round % 3 === 0 ? [/acct-[a-z]+-end/] : [];
    const whole = chunks(createRedactor({ secrets, patterns }), [text]).join('');
    const parts: Uint8Array[] = [];
    const bytes = utf8(text);
    for (let at = 0; at < bytes.length; ) {
      const size = 1 + next(round % 2 === 0 ? 3 : 40);
      parts.push(bytes.subarray(at, at + size));
      at += size;
    }
    const body = createRedactor({ secrets, patterns }).body();
    const out = parts.flatMap((part) => body.push(part));
    out.push(...body.end());
    expect(out).toHaveLength(parts.length);
    expect(utf8Text(concatBytes(out)), text).toBe(whole);
    expect(whole).not.toContain(KEY);
  }
});

it('costs hostile bodies time in proportion to their size', () => {
  const bodies = [
    '{"headers":'.repeat(50_000),
    '"headers":{"a":"b",'.repeat(25_000),
    '"api_key":'.repeat(50_000),
    '"api_key": "'.repeat(50_000),
    `"api_key":${' '.repeat(400_000)}`,
    '\\"'.repeat(250_000),
    `"password":"${'\\'.repeat(400_000)}`,
    `${'\\'.repeat(400_000)}":`,
    KEY.slice(0, -1).repeat(15_000),
    'api_key='.repeat(50_000),
    `--b\r\n${'Content-Disposition: form-data; name="password"\r\n\r\n'.repeat(10_000)}`,
  ];
  for (const body of bodies) {
    for (const size of [body.length, 4096]) {
      const start = performance.now();
      joined(createRedactor({ secrets }), inPieces(body, size));
      expect(performance.now() - start, body.slice(0, 20)).toBeLessThan(3000);
    }
  }
});
