import { describe, expect, it } from 'vitest';
import { isSoundDirectory, PathPair } from './path-pair.ts';

const pair = new PathPair('/home/me/my app', '/tmp/copy/0/my app');
const bytes = (text: string): Buffer => Buffer.from(text);

describe('a directory and its copy', () => {
  it('stand for each other in texts, as paths and as written in URLs', () => {
    expect(pair.toRecorded('in /tmp/copy/0/my app/src, file:///tmp/copy/0/my%20app/a.mjs')).toBe(
      'in /home/me/my app/src, file:///home/me/my%20app/a.mjs',
    );
    expect(pair.toRecorded('?cwd=%2Ftmp%2Fcopy%2F0%2Fmy%20app')).toBe('?cwd=%2Fhome%2Fme%2Fmy%20app');
    expect(pair.bytesToLive(bytes('at /home/me/my app\n')).toString()).toBe('at /tmp/copy/0/my app\n');
  });

  it('leave bytes as they are that are no text', () => {
    const binary = Buffer.from([0xff, 0, 0xc3, 0x28]);
    expect(pair.bytesToRecorded(binary)).toBe(binary);
    const both = Buffer.concat([binary, bytes('/tmp/copy/0/my app'), binary]);
    expect(Buffer.from(pair.bytesToRecorded(both))).toEqual(Buffer.concat([binary, bytes('/home/me/my app'), binary]));
  });

  it('stand for each other where the path comes in pieces, wherever it is cut', () => {
    const text = 'é /tmp/copy/0/my app/x, /tmp/copy/0/my, /tmp';
    for (let cut = 0; cut <= bytes(text).length; cut++) {
      const stream = pair.stream();
      const parts = [stream.push(bytes(text).subarray(0, cut)), stream.push(bytes(text).subarray(cut)), stream.rest()];
      expect(Buffer.concat(parts).toString()).toBe('é /home/me/my app/x, /tmp/copy/0/my, /tmp');
    }
    const single = pair.stream();
    const each = [...bytes(text)].map((byte) => single.push(Uint8Array.of(byte)));
    expect(Buffer.concat([...each, single.rest()]).toString()).toBe('é /home/me/my app/x, /tmp/copy/0/my, /tmp');
  });

  it('give what lies beside the one its path from the other', () => {
    expect(pair.relativeToRecorded('src/a.mjs')).toBe('src/a.mjs');
    expect(pair.relativeToRecorded('../../../../var/x')).toBe('../../../var/x');
  });

  it.each([
    'https://host/acme/app.git',
    'https://host/app',
    '/app-data',
    '/app.bak',
    '/application',
    'src/app/x',
    '../app',
    '~/app',
    '%2Fapp-data',
    'a%2Fapp',
  ])('leave %s as it is, which only looks like the one that was recorded', (text) => {
    const short = new PathPair('/app', '/tmp/copy/app', true);
    expect(Buffer.from(short.bytesToLive(bytes(`"${text}"`))).toString()).toBe(`"${text}"`);
    expect(new PathPair('/tmp/copy/app', '/app').toRecorded(text)).toBe(text);
  });

  it.each([
    ['/app', '/tmp/copy/app'],
    ['in /app.', 'in /tmp/copy/app.'],
    ['"/app/x": \'/app\'', '"/tmp/copy/app/x": \'/tmp/copy/app\''],
    ['at file:///app/a.mjs:1', 'at file:///tmp/copy/app/a.mjs:1'],
    ['PATH=/bin:/app/bin', 'PATH=/bin:/tmp/copy/app/bin'],
    [JSON.stringify('a\n/app\n/app/b'), JSON.stringify('a\n/tmp/copy/app\n/tmp/copy/app/b')],
    ['\x1b[31m/app\x1b[0m', '\x1b[31m/tmp/copy/app\x1b[0m'],
    ['cc -I/app/include', 'cc -I/tmp/copy/app/include'],
    ['?a=x%20%2Fapp%2Fb', '?a=x%20%2Ftmp%2Fcopy%2Fapp%2Fb'],
  ])('have %j replaced', (recorded, live) => {
    const short = new PathPair('/app', '/tmp/copy/app', true);
    expect(Buffer.from(short.bytesToLive(bytes(recorded))).toString()).toBe(live);
    expect(short.toRecorded(live)).toBe(recorded);
    expect(new PathPair('/tmp/copy/app', '/app').toRecorded(recorded)).toBe(live);
  });

  it('have the path of a copy replaced wherever it stands: nothing else is called so', () => {
    const copy = new PathPair('/app', '/tmp/copy/app', true);
    expect(copy.toRecorded('/tmp/copy/app-data, x/tmp/copy/app.git')).toBe('/app-data, x/app.git');
  });

  it('leave what only looks like it as it is where it comes in pieces, wherever it is cut', () => {
    const text = '/app /app-data x/app /app.. /app..git, http://h/app file:///app \x1b[31m/app -I/app /app.';
    const right = '/t/b /app-data x/app /t/b.. /app..git, http://h/app file:///t/b \x1b[31m/t/b -I/t/b /t/b.';
    for (let cut = 0; cut <= text.length; cut++) {
      const stream = new PathPair('/t/b', '/app').stream();
      const parts = [text.slice(0, cut), text.slice(cut)].map((part) => stream.push(bytes(part)));
      expect(Buffer.concat([...parts, stream.rest()]).toString()).toBe(right);
    }
    const single = new PathPair('/t/b', '/app').stream();
    const each = [...bytes(text)].map((byte) => single.push(Uint8Array.of(byte)));
    expect(Buffer.concat([...each, single.rest()]).toString()).toBe(right);
  });

  it('take a path with the signs of a replacement as it is', () => {
    expect(new PathPair("/a/$&$'", '/b').toRecorded('/b/c')).toBe("/a/$&$'/c");
  });
});

it.each([
  ['/', false],
  ['', false],
  ['app', false],
  ['/app/../x', false],
  ['/app\0', false],
  [`/${'a'.repeat(5000)}`, false],
  ['/app', true],
])('%j is a directory that a recording may name: %s', (path, is) => {
  expect(isSoundDirectory(path)).toBe(is);
});
