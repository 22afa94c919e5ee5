import { createRedactor } from '@orangebox/codec';
import type { ChildRecord, RunStartRecord } from '@orangebox/schema';
import { describe, expect, it } from 'vitest';
import { redactRunRecord } from './run-records.ts';

const SECRET = 'sk-planted-0123456789abcdef';
const redactor = createRedactor({ secrets: [{ name: 'env.KEY', value: SECRET }] });
const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('records of a run hold no secret', () => {
  it('in arguments and values of the environment', () => {
    const start = redactRunRecord(
      {
        type: 'runStart',
        argv: ['agent.mjs', `--key=${SECRET}`],
        execArgv: [],
        environment: { values: { LANG: SECRET }, hashes: {} },
      } as unknown as RunStartRecord,
      redactor,
    );
    expect(JSON.stringify(start)).not.toContain(SECRET);
    expect(JSON.stringify(start)).toContain('{{secret:env.KEY}}');
  });

  it('in what a child process is given and gives, also across two pieces', () => {
    const events: ChildRecord['events'] = [
      { seq: 1, kind: 'stdout', bytes: base64(`before ${SECRET.slice(0, 9)}`) },
      { seq: 2, kind: 'stdout', bytes: base64(`${SECRET.slice(9)} after`) },
      { seq: 3, kind: 'stderr', bytes: base64('nothing') },
      { seq: 4, kind: 'close', code: 0, signal: null },
    ];
    const child = redactRunRecord(
      {
        type: 'child',
        seq: 0,
        file: 'sh',
        argv: ['-c', `curl -H ${SECRET}`],
        cwd: '',
        sync: false,
        pid: 7,
        stdin: base64(SECRET),
        events,
      },
      redactor,
    ) as ChildRecord;
    const text = (kind: string): string =>
      Buffer.concat(
        child.events.filter((event) => event.kind === kind).map(({ bytes = '' }) => Buffer.from(bytes, 'base64')),
      ).toString();
    expect(text('stdout')).toBe('before {{secret:env.KEY}} after');
    expect(child.events[2]).toEqual(events[2]);
    expect(Buffer.from(child.stdin, 'base64').toString()).toBe('{{secret:env.KEY}}');
    expect(child.argv[1]).toBe('curl -H {{secret:env.KEY}}');
  });

  it('and leaves what was drawn at random alone', () => {
    const draws = [{ seq: 1, source: 'crypto.randomUUID', value: '53d54b38-59d2-4321-98fd-fb92c5b6e6a6' }];
    expect(redactRunRecord({ type: 'draws', draws }, redactor)).toEqual({ type: 'draws', draws });
  });
});
