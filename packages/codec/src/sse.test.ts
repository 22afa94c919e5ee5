import { describe, expect, test } from 'vitest';
import { utf8 } from './bytes.ts';
import { parseSse, SseParser } from './sse.ts';

describe('parseSse', () => {
  test('ends lines at LF, CRLF and CR alike', () => {
    for (const end of ['\n', '\r\n', '\r']) {
      const text = [`event: delta`, 'data: one', '', 'data: two', 'data:three', '', ''].join(end);
      expect(parseSse(text)).toEqual([{ event: 'delta', data: 'one' }, { data: 'two\nthree' }]);
    }
  });

  test('drops a byte order mark, passes over comments and unknown fields, keeps one leading space of two', () => {
    expect(parseSse('\ufeffdata:  x\n: ping\nfoo: bar\nretry: 3\n\n')).toEqual([{ data: ' x' }]);
    expect(parseSse(utf8('\ufeffdata: x\n\n'))).toEqual([{ data: 'x' }]);
  });

  test('keeps the last id for later events, ignores one with a zero character', () => {
    expect(parseSse('id: 7\ndata: a\n\ndata: b\n\nid: 1\u0000\ndata: c\n\n')).toEqual([
      { data: 'a', id: '7' },
      { data: 'b', id: '7' },
      { data: 'c', id: '7' },
    ]);
  });

  test('fires no event without data and none that no blank line ends', () => {
    expect(parseSse('event: only\n\ndata\n\ndata: cut')).toEqual([{ data: '' }]);
  });
});

test('any cut of the bytes gives the same events', () => {
  const bytes = utf8('\ufeffevent: ä\r\ndata: grüße 🍊\r\n\r\n: c\rdata: {"a":\rdata: 1}\r\rdata: 末\n\ndata: rest');
  const whole = parseSse(bytes);
  expect(whole).toHaveLength(3);
  for (let first = 0; first <= bytes.length; first++) {
    for (const second of [first, first + 1, first + 5]) {
      const parser = new SseParser();
      const pieces = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)];
      expect(pieces.flatMap((piece) => parser.push(piece))).toEqual(whole);
      expect(parser.end()).toBe('data: rest');
    }
  }
});
