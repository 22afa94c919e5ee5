import type { ToolRunRecord } from '@orangebox/schema';
import { describe, expect, it } from 'vitest';
import type { LeafDifference } from '../matching/types.ts';
import { isSoundTool } from './sound-records.ts';
import { ServedTools } from './served-tools.ts';

const record = (change: Partial<ToolRunRecord>): ToolRunRecord => ({
  type: 'toolRun',
  seq: 1,
  endSeq: 2,
  name: 'ask',
  frameId: '0',
  args: '["a"]',
  isAsync: false,
  outcome: 'returned',
  notReplayable: [{ what: 'connection to db:1', count: 1 }],
  ...change,
});

function toolsOf(...records: ToolRunRecord[]) {
  const differences: LeafDifference[] = [];
  const tools = new ServedTools(records, {
    called: () => undefined,
    giving: () => undefined,
    extra: () => undefined,
    differs: (_, difference) => void differences.push(difference),
  });
  return { tools, differences };
}

describe('a tool that is given', () => {
  it('returns what it returned, undefined too', () => {
    const { tools } = toolsOf(record({ value: '{"a":[1]}' }), record({ seq: 3 }));
    expect(tools.start('ask', '["a"]').serve?.()).toEqual({ a: [1] });
    expect(tools.start('ask', '["a"]').serve?.()).toBeUndefined();
    expect(tools.start('ask', '["a"]').serve).toBeUndefined();
    expect(tools.served).toBe(2);
  });

  it('throws what it threw: class of the platform, name, message and members', () => {
    const members = '{"code":"42601","__proto__":{"isAdmin":true}}';
    const { tools } = toolsOf(
      record({ outcome: 'threw', error: { name: 'TypeError', message: 'no', members } }),
      record({ seq: 3, outcome: 'threw', error: { name: 'constructor', message: 'odd' } }),
    );
    const thrown = (): TypeError & { code?: string; isAdmin?: boolean } => {
      try {
        return tools.start('ask', '["a"]').serve?.() as never;
      } catch (error) {
        return error as never;
      }
    };
    const first = thrown();
    expect(first).toBeInstanceOf(TypeError);
    expect([first.name, first.message, first.code, first.isAdmin]).toEqual(['TypeError', 'no', '42601', undefined]);
    expect(Object.keys(first)).toEqual(['code', '__proto__']);
    const second = thrown();
    expect([Object.getPrototypeOf(second), second.name, second.message]).toEqual([
      Error.prototype,
      'constructor',
      'odd',
    ]);
  });

  it('gives a promise that settles when its place has come', async () => {
    const late = record({ isAsync: true, value: '1' });
    const { tools } = toolsOf(late);
    let value: unknown;
    const served = tools.start('ask', '["a"]').serve?.() as Promise<unknown> | undefined;
    void served?.then((one) => (value = one));
    expect(tools.isWaiting(late)).toBe(true);
    await Promise.resolve();
    expect(value).toBeUndefined();
    tools.give(late);
    await Promise.resolve();
    expect(value).toBe(1);
  });

  it.each([undefined, '["b"]', '[]'])('is told where its arguments are others: %s', (args) => {
    const { tools, differences } = toolsOf(record({}));
    tools.start('ask', args);
    expect(differences).toHaveLength(1);
  });

  it('takes one value for a secret that was replaced', () => {
    const { tools, differences } = toolsOf(
      record({ args: '["{{secret:A}}"]' }),
      record({ seq: 3, args: '["{{secret:A}}"]' }),
    );
    tools.start('ask', '["hunter2hunter2"]');
    expect(differences).toEqual([]);
    tools.start('ask', '["another-secret"]');
    expect(differences).toHaveLength(1);
  });
});

it('what is no JSON is no record of a tool', () => {
  expect(isSoundTool(record({ value: '{"a":' }))).toBe(false);
  expect(isSoundTool(record({ args: 'process.exit()' }))).toBe(false);
  expect(isSoundTool(record({ error: { name: '', message: '', members: '[1]' } }))).toBe(false);
  expect(isSoundTool(record({ value: 'null', error: { name: '', message: '', members: '{}' } }))).toBe(true);
});
