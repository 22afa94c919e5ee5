import { gzipSync } from 'node:zlib';
import { snapshotKey } from '@orangebox/schema';
import { verifySnapshot } from '@orangebox/store';
import { describe, expect, it } from 'vitest';
import { LeakSearch } from './canary-leak.ts';
import { makeCanary } from './canary-snapshot.ts';

describe('the canary', () => {
  it('is a whole snapshot of now, and no two are alike', () => {
    const now = Date.UTC(2026, 10, 30, 23, 59, 59);
    const { snapshot, marker } = makeCanary(now);
    expect(verifySnapshot(snapshot, 'the canary')).toEqual(snapshot);
    expect(snapshotKey(snapshot)).toMatch(/^v1\/20261130\//);
    expect(JSON.stringify(snapshot).split(marker).length).toBe(3);
    expect(makeCanary(now).marker).not.toBe(marker);
  });
});

describe('a payload in an answer', () => {
  const { snapshot, marker } = makeCanary(1);
  const json = Buffer.from(JSON.stringify(snapshot));
  const gzip = gzipSync(json);
  const search = new LeakSearch(marker, gzip);

  it('is found as text, as base64 at any place, as hex, and by the names of its event', () => {
    const inlineIn = (before: string): string => Buffer.from(before + marker).toString('base64');
    const answers = [
      `{"value":"Say ${marker}."}`,
      ...['', '1', '12', '123'].map(inlineIn),
      `{"bytesValue":"${gzip.toString('base64')}"}`,
      `{"bytesValue":"${gzip.toString('base64').replaceAll('/', '\\/')}"}`,
      `{"value":"${gzip.toString('hex')}"}`,
      ...[1, 2].map((n) => Buffer.concat([Buffer.alloc(n), gzip, Buffer.alloc(5)]).toString('base64')),
      '{"name":"orangebox.snapshot"}',
      '{"key":"orangebox.snapshot.body"}',
    ];
    for (const answer of answers) expect(search.find(answer), answer.slice(0, 80)).toBeDefined();
  });

  it('is not taken for one where only metadata stand', () => {
    const answer = JSON.stringify({
      attributes: [
        { key: 'orangebox.snapshot.key', value: snapshotKey(snapshot) },
        { key: 'orangebox.snapshot.digest', value: snapshot.digest },
        { key: 'gen_ai.conversation.id', value: 'orangebox-canary' },
      ],
    });
    expect(search.find(answer)).toBeUndefined();
    expect(search.find(JSON.stringify(gzipSync('another').toString('base64')))).toBeUndefined();
  });
});
