import { EventEmitter } from 'node:events';
import type { ChildEvent, ChildRecord } from '@orangebox/schema';
import { describe, expect, it } from 'vitest';
import type { LeafDifference } from '../matching/types.ts';
import { PathPair } from './files/path-pair.ts';
import { ServedChildren } from './served-children.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

function child(part: Partial<ChildRecord>): ChildRecord {
  return { type: 'child', seq: 1, file: 'sh', argv: [], cwd: '', sync: true, pid: 42, stdin: '', events: [], ...part };
}

/** Children of a recording, and what was said of those that are others. */
function childrenOf(...records: ChildRecord[]): { children: ServedChildren; found: LeafDifference[] } {
  const found: LeafDifference[] = [];
  const children = new ServedChildren(records, {
    served: () => undefined,
    unknown: (_what, differences) => void found.push(...differences),
  });
  return { children, found };
}

const run = (children: ServedChildren, argv: string[], input = ''): unknown =>
  children.runSync({ file: 'sh', argv, cwd: '', input: Buffer.from(input) });

describe('a secret on record of a child process', () => {
  it('stands for a text in its place, and for nothing around it', () => {
    const { children, found } = childrenOf(child({ argv: ['-c', 'curl -H "{{secret:KEY}}" a.test'] }));
    run(children, ['-c', 'curl -H "sk-123" a.test']);
    expect(found).toEqual([]);
    const other = childrenOf(child({ argv: ['-c', 'curl -H "{{secret:KEY}}" a.test'] }));
    run(other.children, ['-c', 'rm -rf / # a.test']);
    expect(other.found.map(({ path }) => path)).toEqual(['child.argv[1]']);
  });

  it('stands for one value over the whole run, and no other secret for the same', () => {
    const records = [child({ argv: ['{{secret:A}}'] }), child({ seq: 2, argv: ['{{secret:A}}', '{{secret:B}}'] })];
    for (const [argv, differs] of [
      [['one', 'two'], []],
      [
        ['two', 'one'],
        ['child.argv[0]', 'child.argv[1]'],
      ],
      [['one', 'one'], ['child.argv[1]']],
    ] as const) {
      const { children, found } = childrenOf(...records);
      run(children, ['one']);
      run(children, [...argv]);
      expect(found.map(({ path }) => path)).toEqual(differs);
    }
  });

  it('in what is written to it is no licence for the rest', () => {
    const record = child({ stdin: base64('login {{secret:KEY}}\nquit\n') });
    for (const [input, differs] of [
      ['login sk-123\nquit\n', []],
      ['login sk-123\ndrop\n', ['child.stdin']],
      ['{{secret:KEY}}', ['child.stdin']],
    ] as const) {
      const { children, found } = childrenOf(record);
      run(children, [], input);
      expect(found.map(({ path }) => path)).toEqual(differs);
    }
  });
});

describe('a child process from a recording', () => {
  it('comes to its ends once, whatever the recording says', () => {
    const events = ['spawn', 'spawn', 'stdout', 'stdout_end', 'stdout', 'stdout_end', 'exit', 'exit', 'close', 'close'];
    const record = child({
      sync: false,
      events: events.map((kind, seq) => ({ seq, kind, bytes: base64('x'), code: 0 }) as ChildEvent),
    });
    const { children } = childrenOf(record);
    const object = new EventEmitter() as EventEmitter & { stdout: NodeJS.ReadableStream; pid: number };
    children.spawn(object, { file: 'sh', argv: [], cwd: '', pipes: { stdin: true, stdout: true, stderr: true } });
    const seen: string[] = [];
    for (const name of ['spawn', 'exit', 'close', 'error']) object.on(name, () => void seen.push(name));
    object.stdout.on('error', (error) => void seen.push(String(error)));
    expect(children.stateOf(object.pid)).toBe('child');
    for (const event of record.events) children.give(record, event);
    expect(seen).toEqual(['spawn', 'exit', 'close']);
    expect(children.stateOf(object.pid)).toBe('ended');
    expect(children.stateOf(43)).toBeUndefined();
  });

  it('has only codes of errors that there are', () => {
    for (const code of ['constructor', '__proto__', 'toString', 'ENOENT']) {
      const record = child({ events: [{ seq: 2, kind: 'error', error: { code, message: 'no' } }] });
      const { children } = childrenOf(record);
      const { error } = run(children, []) as { error: Error & { errno?: number } };
      expect(error.errno).toBe(code === 'ENOENT' ? -2 : undefined);
    }
  });
});

describe('where the working directory is another one', () => {
  const paths = new PathPair('/home/me/app', '/tmp/copy/app');

  it('a child is the one on record by the paths of either, and so is what is written to it', () => {
    const found: LeafDifference[] = [];
    const record = { argv: ['-c', 'cat /home/me/app/a.txt'], cwd: '../other', stdin: base64('in /home/me/app') };
    const children = new ServedChildren(
      [child(record), child({ ...record, seq: 2 })],
      { served: () => undefined, unknown: (_what, differences) => void found.push(...differences) },
      paths,
    );
    const cwd = '../../../home/me/other';
    for (const at of ['/tmp/copy/app', '/home/me/app']) {
      children.runSync({ file: 'sh', argv: ['-c', `cat ${at}/a.txt`], cwd, input: Buffer.from(`in ${at}`) });
    }
    expect(found).toEqual([]);
    expect(children.served).toBe(2);
  });
});
