import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { HeaderList } from '@orangebox/schema';
import { asked, onRecord } from '../testing/requests.ts';
import { createMatcher } from './matcher.ts';
import type { MatchResult } from './types.ts';

const verdict = (result: MatchResult): string =>
  result.kind === 'matched' ? `${result.index} ${result.rung}` : `missed ${result.reason}`;

/** One recorded request, asked for in another way. */
function once(recorded: Parameters<typeof onRecord>[0], live: Parameters<typeof asked>[0]): string {
  return verdict(createMatcher(onRecord(recorded)).match(asked(live)));
}

const typed = (type: string): HeaderList => [['Content-Type', type]];

describe('exact', () => {
  it('is the same method, URL, compared headers and bytes', () => {
    const body = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };
    expect(once({ body }, { body })).toBe('0 exact');
    expect(once({ body, method: 'PUT' }, { body })).toBe('missed changed');
    expect(once({ body, headers: [] }, { body, headers: [['openai-beta', 'assistants=v2']] })).toBe('missed changed');
  });

  it('passes over fields of the connection, the client and the trace', () => {
    const headers: HeaderList = [
      ['User-Agent', 'OpenAI/JS 6.49.0'],
      ['x-stainless-retry-count', '0'],
      ['traceparent', '00-1'],
      ['Content-Length', '9'],
    ];
    expect(once({ headers }, { headers: [['user-agent', 'OpenAI/JS 7.0.0']] })).toBe('0 exact');
  });

  it('is no more than unified where a path in it stands for another', () => {
    const body = { cwd: '/home/me' };
    const matcher = createMatcher(onRecord({ body }, { body }));
    expect(verdict(matcher.match({ ...asked({ body }), isMapped: true }))).toBe('0 unified');
    expect(verdict(matcher.match(asked({ body })))).toBe('1 exact');
    expect(matcher.report().rungs).toEqual({ exact: 1, canonical: 0, unified: 1, rule: 0 });
  });

  it('gives each recorded request once, twins in their order, and then no more', () => {
    const matcher = createMatcher(onRecord({ body: 1 }, { body: 1 }));
    const results = [1, 2, 3].map(() => verdict(matcher.match(asked({ body: 1 }))));
    expect(results).toEqual(['0 exact', '1 exact', 'missed extra']);
    expect(matcher.report()).toMatchObject({ rungs: { exact: 2 }, remaining: [] });
  });
});

describe('canonical', () => {
  const same: [name: string, recorded: Parameters<typeof onRecord>[0], live: Parameters<typeof asked>[0]][] = [
    ['the order of members', { body: '{"a":1,"b":{"c":2,"d":3}}' }, { body: '{ "b":{"d":3,"c":2}, "a":1 }' }],
    ['the writing of one number', { body: '{"t":1.0,"u":100}' }, { body: '{"t":1,"u":1e2}' }],
    ['the order of query parameters', { url: 'https://h/p?b=2&a=1' }, { url: 'https://h/p?a=1&b=2' }],
    [
      'the order and the case of header fields',
      { headers: [['X-A', '1'], ['X-B', '2']], body: '{"a":1}' },
      { headers: [['x-b', '2'], ['x-a', '1']], body: '{"a": 1}' },
    ],
    [
      'a content encoding',
      { headers: [...typed('application/json'), ['content-encoding', 'gzip']], body: gzipSync('{"a":1}') },
      { headers: typed('application/json'), body: '{"a":1}' },
    ],
    [
      'the boundary of a form',
      {
        headers: typed('multipart/form-data; boundary=abc'),
        body: '--abc\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--abc--\r\n',
      },
      {
        headers: typed('multipart/form-data; boundary="x--9"'),
        body: '--x--9\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--9--\r\n',
      },
    ],
    ['a secret in a body', { body: { key: '{{secret:api_key}}' } }, { body: { key: 'k-123' } }],
    ['a secret in a URL', { url: 'https://h/p?key={{secret:key}}' }, { url: 'https://h/p?key=AIza1' }],
  ]; // biome-ignore format: a table
  for (const [name, recorded, live] of same) {
    it(`forgives ${name}`, () => expect(once(recorded, live)).toBe('0 canonical'));
  }

  const other: [name: string, recorded: Parameters<typeof onRecord>[0], live: Parameters<typeof asked>[0]][] = [
    [
      'a large number by its last digit',
      { body: '{"id":12345678901234567890}' },
      { body: '{"id":12345678901234567891}' },
    ],
    ['a number and its text', { body: '{"a":1}' }, { body: '{"a":"1"}' }],
    ['the order of a list', { body: '[1,2]' }, { body: '[2,1]' }],
    ['a member that is named twice', { body: '{"a":1,"a":2}' }, { body: '{"a":2}' }],
    ['members that are absent and null', { body: '{"a":null}' }, { body: '{}' }],
    ['white space in a text', { body: '{"a":"x y"}' }, { body: '{"a":"x  y"}' }],
    ['values of one query parameter', { url: 'https://h/p?a=1&a=2' }, { url: 'https://h/p?a=2&a=1' }],
    ['a host', { url: 'https://h/p' }, { url: 'https://i/p' }],
    ['a port', { url: 'http://127.0.0.1:1/p' }, { url: 'http://127.0.0.1:2/p' }],
    ['text around a secret', { body: { key: 'k {{secret:api_key}}' } }, { body: { key: 'l k-123' } }],
    ['words where a secret was', { body: { key: '{{secret:api_key}}' } }, { body: { key: 'k-1 and more' } }],
    ['nothing where a secret was', { body: { key: '{{secret:api_key}}' } }, { body: { key: '' } }],
    ['bytes that are no text', { body: Buffer.from([255, 1]) }, { body: Buffer.from([255, 2]) }],
    [
      'bytes and text of the same characters in a form',
      {
        headers: typed('multipart/form-data; boundary=a'),
        body: Buffer.from('--a\r\nX: y\r\n\r\n\u00e9\r\n--a--', 'latin1'),
      },
      { headers: typed('multipart/form-data; boundary=a'), body: '--a\r\nX: y\r\n\r\n\u00e9\r\n--a--' },
    ],
  ];
  for (const [name, recorded, live] of other) {
    it(`tells apart ${name}`, () => expect(once(recorded, live)).toMatch(/^missed/));
  }

  it('takes one value for one token over the whole run', () => {
    const matcher = createMatcher(onRecord({ body: { k: '{{secret:k}}' } }, { body: { k: '{{secret:k}}' } }));
    expect(verdict(matcher.match(asked({ body: { k: 'one-key' } })))).toBe('0 canonical');
    expect(verdict(matcher.match(asked({ body: { k: 'other-key' } })))).toBe('missed changed');
    expect(verdict(matcher.match(asked({ body: { k: 'one-key' } })))).toBe('1 canonical');
  });

  it('takes a token for itself where an answer told it', () => {
    const matcher = createMatcher(onRecord({ body: { k: '{{secret:k}}' } }, { body: { k: '{{secret:k}}' } }));
    expect(verdict(matcher.match(asked({ body: { k: 'one-key' } })))).toBe('0 canonical');
    expect(verdict(matcher.match(asked({ body: { k: '{{secret:k}}' } })))).toBe('1 exact');
  });
});

describe('the place of a request', () => {
  it('is the next of its scope; scopes do not wait for one another', () => {
    const matcher = createMatcher(onRecord({ scope: ['a'], body: 1 }, { scope: ['b'], body: 1 }));
    expect(verdict(matcher.match(asked({ scope: ['b'], body: 1 })))).toBe('1 exact');
    expect(verdict(matcher.match(asked({ scope: ['a'], body: 1 })))).toBe('0 exact');
  });

  it('is told where it is a later one, and nothing is given', () => {
    const matcher = createMatcher(onRecord({ body: { q: 'first' } }, { body: { q: 'second' } }));
    expect(matcher.match(asked({ body: { q: 'second' } }))).toMatchObject({
      kind: 'missed',
      reason: 'reordered',
      expected: 0,
      nearest: [
        { index: 1, diff: [] },
        { index: 0, diff: [{ path: 'body.q' }] },
      ],
    });
    expect(matcher.report().remaining).toEqual([0, 1]);
  });

  it('may be any among those that knew as much', () => {
    const matcher = createMatcher(
      onRecord(
        { body: { q: 'first' }, deliveriesBefore: 3 },
        { body: { q: 'second' }, deliveriesBefore: 3 },
        { body: { q: 'third' }, deliveriesBefore: 4 },
      ),
    );
    expect(verdict(matcher.match(asked({ body: { q: 'third' } })))).toBe('missed reordered');
    expect(verdict(matcher.match(asked({ body: { q: 'second' } })))).toBe('1 exact');
    expect(verdict(matcher.match(asked({ body: { q: 'third' } })))).toBe('missed reordered');
    expect(verdict(matcher.match(asked({ body: { q: 'first' } })))).toBe('0 exact');
    expect(verdict(matcher.match(asked({ body: { q: 'third' } })))).toBe('2 exact');
  });

  it('is told where it belongs to another scope', () => {
    const matcher = createMatcher(onRecord({ scope: ['a'], body: { q: 1 } }, { scope: ['b'], body: { q: 2 } }));
    expect(verdict(matcher.match(asked({ scope: ['a'], body: { q: 2 } })))).toBe('missed moved_scope');
  });

  it('is nowhere for what was given already, and for what is like nothing on record', () => {
    const matcher = createMatcher(onRecord({ body: { q: 1 } }, { body: { q: 'what comes next' } }));
    matcher.match(asked({ body: { q: 1 } }));
    expect(verdict(matcher.match(asked({ body: { q: 1 } })))).toBe('missed extra');
    expect(verdict(matcher.match(asked({ method: 'GET', url: 'https://h/health', body: '' })))).toBe('missed extra');
    expect(verdict(matcher.match(asked({ body: { q: 'what comes now' } })))).toBe('missed changed');
  });

  it('shows the headers that matching passes over', () => {
    const recorded = onRecord({ headers: [['user-agent', 'OpenAI/JS 6']], body: { q: 1 } });
    expect(
      createMatcher(recorded).match(asked({ headers: [['user-agent', 'OpenAI/JS 7']], body: { q: 2 } })),
    ).toMatchObject({
      nearest: [
        {
          diff: [
            { path: 'body.q', recorded: { type: 'number', text: '1' }, live: { type: 'number', text: '2' } },
            { path: 'header.user-agent', isNoise: true },
          ],
        },
      ],
    });
  });
});
