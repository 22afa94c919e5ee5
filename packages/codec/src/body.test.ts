import { describe, expect, it } from 'vitest';
import type { Body } from '@orangebox/schema';
import { decodeBody, encodeBody, fromBase64, utf8 } from './index.ts';

describe('bodies', () => {
  it('are text where they are valid UTF-8, byte order mark included', () => {
    for (const text of ['x', '\ufeffx', 'naïve ☕ 😀', '\u0000\u2028']) {
      const body = encodeBody(utf8(text));
      expect(body).toEqual({ form: 'text', sizeBytes: utf8(text).length, text });
      expect(decodeBody(JSON.parse(JSON.stringify(body)) as Body)).toEqual(utf8(text));
    }
  });

  it('are base64 where they are not, and come back byte for byte', () => {
    for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0x1f, 0x8b, 0x08, 0x00, 0xff]]) {
      const body = encodeBody(Uint8Array.from(bytes));
      expect(body.form).toBe('base64');
      expect([...decodeBody(body)]).toEqual(bytes);
    }
    expect(encodeBody(new Uint8Array(0))).toEqual({ form: 'empty', sizeBytes: 0 });
  });

  it('resolve a difference to an earlier body', () => {
    const base = utf8('{"messages":[1]}');
    const body: Body = {
      form: 'delta',
      sizeBytes: 18,
      baseSha256: 'a'.repeat(64),
      prefixBytes: 14,
      suffixBytes: 2,
      middle: encodeBody(utf8(',2')),
    };
    expect(decodeBody(body, () => base)).toEqual(utf8('{"messages":[1,2]}'));
    expect(() => decodeBody(body)).toThrow(expect.objectContaining({ code: 'OBX_SNAPSHOT_BODY_BASE' }));
    expect(() => decodeBody({ ...body, prefixBytes: 99 }, () => base)).toThrow(
      expect.objectContaining({ code: 'OBX_SNAPSHOT_BODY' }),
    );
  });

  it('are refused when they do not have the size they state', () => {
    const wrong: Body[] = [
      { form: 'text', sizeBytes: 5, text: 'abc' },
      { form: 'base64', sizeBytes: 1, base64: 'not base64!' },
      { form: 'other', sizeBytes: 0 } as unknown as Body,
    ];
    for (const body of wrong)
      expect(() => decodeBody(body)).toThrow(expect.objectContaining({ code: 'OBX_SNAPSHOT_BODY' }));
  });

  it('are refused when differences go on for ever', () => {
    let body: Body = { form: 'empty', sizeBytes: 0 };
    for (let i = 0; i < 10_000; i++) {
      body = { form: 'delta', sizeBytes: 0, baseSha256: 'a'.repeat(64), prefixBytes: 0, suffixBytes: 0, middle: body };
    }
    expect(() => decodeBody(body, () => new Uint8Array(0))).toThrow(
      expect.objectContaining({ code: 'OBX_SNAPSHOT_BODY' }),
    );
  });
});

describe('base64 text', () => {
  it('has one form for each array of bytes', () => {
    for (const text of ['AB==', 'ABC', 'A===', '====', 'AA=A', 'AA\n=', 'AAB='])
      expect(fromBase64(text)).toBeUndefined();
    expect(fromBase64('AA==')).toEqual(new Uint8Array(1));
  });
});
