import { describe, expect, it } from 'vitest';
import { createUrlFilter } from './url-filter.ts';

const url = 'http://api.example.com:8080/v1/Chat?key=1';
const said = (include?: string, exclude?: string, of = url): unknown =>
  createUrlFilter(include, exclude, () => undefined).match(of);

describe('ORANGEBOX_INCLUDE and ORANGEBOX_EXCLUDE', () => {
  it.each([
    '*',
    'api.example.com',
    'API.Example.com',
    '*.example.com',
    'api.example.com:8080',
    'api.example.com:*',
    'api.example.com/v1/*',
    'api.example.com/v1/Chat',
    '*/v1/*at',
    'http://api.example.com/v1/Chat',
    'http://*',
    'https://x.test, api.example.com',
  ])('the pattern %s matches', (pattern) => {
    expect(said(pattern)).toBe('include');
    expect(said(undefined, pattern)).toBe('exclude');
  });

  it.each([
    'example.com',
    'api.example.com:80',
    'https://*',
    'api.example.com/v1',
    'api.example.com/v1/chat',
    'api?example.com',
    'api.example.co.',
    '/v1/Chat',
  ])('the pattern %s does not', (pattern) => {
    expect(said(pattern)).toBeUndefined();
  });

  it('let exclusion win', () => {
    expect(said('*', '*.example.com')).toBe('exclude');
  });

  it('look at neither query, fragment nor user info', () => {
    expect(said('evil.test', undefined, 'http://a:b@good.test/x?u=http://evil.test/#evil.test')).toBeUndefined();
    expect(said('good.test', undefined, 'http://a:b@good.test/x?y')).toBe('include');
  });

  it('stay quick with a hostile URL', () => {
    const started = performance.now();
    said(`h/${'*a'.repeat(20)}*b`, undefined, `http://h/${'a'.repeat(5000)}`);
    expect(performance.now() - started).toBeLessThan(1000);
  });

  it('warn of a pattern with a space and ignore it', () => {
    const lines: string[] = [];
    const filter = createUrlFilter('good.test,bad pattern', '', (line) => lines.push(line));
    expect(lines).toEqual([expect.stringContaining('"bad pattern"')]);
    expect(filter.match('http://good.test/')).toBe('include');
  });

  it('know that there is nothing to look at', () => {
    expect(createUrlFilter(undefined, ' , ', () => undefined).empty).toBe(true);
  });
});
