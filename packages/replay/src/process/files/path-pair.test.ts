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
