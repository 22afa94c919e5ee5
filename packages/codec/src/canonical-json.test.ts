import { describe, expect, it } from 'vitest';
import { CANONICAL_JSON_MAX_DEPTH, canonicalJson, toBase64, utf8 } from './index.ts';
import type { Json } from '@orangebox/schema';

describe('canonical JSON', () => {
  it('gives the text of the example in RFC 8785 §3.2.4', () => {
    const input = JSON.parse(
      '{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],' +
        '"string": "\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/", "literals": [null, true, false]}',
    ) as Json;
    expect(canonicalJson(input)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  it('sorts names by UTF-16 code units, as the example in RFC 8785 §3.2.3', () => {
    const input = {
      '\u20ac': 'Euro Sign',
      '\r': 'Carriage Return',
      '\ufb33': 'Hebrew Letter Dalet With Dagesh',
      '1': 'One',
      '\ud83d\ude00': 'Emoji: Grinning Face',
      '\u0080': 'Control',
      '\u00f6': 'Latin Small Letter O With Diaeresis',
    };
    expect(Object.values(JSON.parse(canonicalJson(input)) as object).filter((value) => value !== 'One')).toEqual([
      'Carriage Return',
      'Control',
      'Latin Small Letter O With Diaeresis',
      'Euro Sign',
      'Emoji: Grinning Face',
      'Hebrew Letter Dalet With Dagesh',
    ]);
    expect(canonicalJson(input).startsWith('{"\\r":"Carriage Return","1":"One"')).toBe(true);
  });

  it('sorts names that objects themselves keep in another order', () => {
    const input = JSON.parse(
      '{"b":{"10":1,"9":2,"a":[{"z":1,"__proto__":2}]},"a":[{"d":1,"c":2},[{"y":1,"x":0}]]}',
    ) as Json;
    expect(canonicalJson(input)).toBe(
      '{"a":[{"c":2,"d":1},[{"x":0,"y":1}]],"b":{"10":1,"9":2,"a":[{"__proto__":2,"z":1}]}}',
    );
    expect(JSON.stringify(input)).toContain('{"d":1,"c":2}');
  });

  it('writes the numbers of RFC 8785 appendix B', () => {
    const samples: [bits: string, text: string][] = [
      ['0000000000000000', '0'],
      ['8000000000000000', '0'],
      ['0000000000000001', '5e-324'],
      ['8000000000000001', '-5e-324'],
      ['7fefffffffffffff', '1.7976931348623157e+308'],
      ['ffefffffffffffff', '-1.7976931348623157e+308'],
      ['4340000000000000', '9007199254740992'],
      ['c340000000000000', '-9007199254740992'],
      ['4430000000000000', '295147905179352830000'],
      ['44b52d02c7e14af5', '9.999999999999997e+22'],
      ['44b52d02c7e14af6', '1e+23'],
      ['44b52d02c7e14af7', '1.0000000000000001e+23'],
      ['444b1ae4d6e2ef4e', '999999999999999700000'],
      ['444b1ae4d6e2ef4f', '999999999999999900000'],
      ['444b1ae4d6e2ef50', '1e+21'],
      ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
      ['3eb0c6f7a0b5ed8d', '0.000001'],
      ['41b3de4355555553', '333333333.3333332'],
      ['41b3de4355555554', '333333333.33333325'],
      ['41b3de4355555555', '333333333.3333333'],
      ['41b3de4355555556', '333333333.3333334'],
      ['41b3de4355555557', '333333333.33333343'],
      ['becbf647612f3696', '-0.0000033333333333333333'],
      ['43143ff3c1cb0959', '1424953923781206.2'],
    ];
    const view = new DataView(new ArrayBuffer(8));
    for (const [bits, text] of samples) {
      view.setBigUint64(0, BigInt(`0x${bits}`));
      expect(canonicalJson(view.getFloat64(0))).toBe(text);
    }
  });

  it('refuses what is no number of JSON', () => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => canonicalJson([value])).toThrow(expect.objectContaining({ code: 'OBX_JSON_NUMBER' }));
    }
  });

  it('escapes a lone surrogate, so that no error text can stop a recording', () => {
    expect(canonicalJson('\ud800')).toBe('"\\ud800"');
  });

  it('leaves out undefined members, as writing the document does', () => {
    expect(canonicalJson({ b: 1, a: undefined } as unknown as Json)).toBe('{"b":1}');
  });

  it('refuses deep nesting with a code instead of running out of stack', () => {
    let deep: Json = 1;
    for (let i = 0; i < 200_000; i++) deep = [deep];
    expect(() => canonicalJson(deep)).toThrow(expect.objectContaining({ code: 'OBX_JSON_DEPTH' }));
    let allowed: Json = 1;
    for (let i = 0; i < CANONICAL_JSON_MAX_DEPTH; i++) allowed = [allowed];
    expect(canonicalJson(allowed)).toHaveLength(2 * CANONICAL_JSON_MAX_DEPTH + 1);
  });
});

describe('base64', () => {
  it('is the platform’s, for every length', () => {
    for (let length = 0; length < 20; length++) {
      const bytes = Uint8Array.from({ length }, (_, i) => (i * 67 + length) & 255);
      expect(toBase64(bytes)).toBe(Buffer.from(bytes).toString('base64'));
    }
    expect(toBase64(utf8('é'))).toBe('w6k=');
  });
});
