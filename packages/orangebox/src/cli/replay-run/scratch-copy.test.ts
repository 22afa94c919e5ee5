import { createHash } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { ContentStore, seeTree, sha256Of } from '@orangebox/instrument/run';
import { type RecordedFiles, recordedFiles } from '@orangebox/replay/process';
import type { FileChange, FileState } from '@orangebox/schema';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { changedSince, writtenOtherwise } from './compare-files.ts';
import { type CopySource, makeScratchCopy, type ScratchCopy } from './scratch-copy.ts';

let base: string;
let cwd: string;
let store: ContentStore;

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'obx-scratch-')));
  cwd = join(base, 'home', 'app');
  mkdirSync(cwd, { recursive: true });
  mkdirSync(join(base, 'scratch'));
  store = new ContentStore(join(cwd, '.orangebox'));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const put = (path: string, content: string): void => {
  mkdirSync(dirname(join(cwd, path)), { recursive: true });
  writeFileSync(join(cwd, path), content);
};
const hashOf = (content: string): string => createHash('sha256').update(content).digest('hex');
const file = (path: string, content: string): FileState => {
  store.keep(hashOf(content), Buffer.from(content));
  return { path, type: 'file', mode: 0o644, sizeBytes: content.length, sha256: hashOf(content) };
};
const keyedHash = (sha256: string): string => `keyed ${sha256.slice(0, 8)}`;
const recorded = (start: FileState[], changes: FileChange[]): RecordedFiles =>
  recordedFiles([{ type: 'runFiles', files: start }], [{ type: 'filesChanged', changes }]);
const copyOf = (files: RecordedFiles, more: Partial<CopySource> = {}): ScratchCopy =>
  makeScratchCopy(
    {
      cwd,
      recordings: join(cwd, '.orangebox'),
      recordedCwd: cwd,
      files,
      store,
      keyedHash,
      entry: 'agent.mjs',
      ...more,
    },
    join(base, 'scratch'),
  );
const text = (copy: ScratchCopy, path: string): string => readFileSync(join(copy.root, path), 'utf8');

describe('the copy of a working directory', () => {
  it('has what the run changed as it was before, and all else as it is now', () => {
    put('agent.mjs', 'edited since');
    put('changed.txt', 'after');
    put('made.txt', 'made');
    const copy = copyOf(
      recorded(
        [file('agent.mjs', 'as recorded'), file('changed.txt', 'before'), file('taken.txt', 'taken')],
        [
          { kind: 'changed', file: file('changed.txt', 'after') },
          { kind: 'created', file: file('made.txt', 'made') },
          { kind: 'deleted', file: file('taken.txt', '') },
        ],
      ),
    );
    expect(text(copy, 'agent.mjs')).toBe('edited since');
    expect(text(copy, 'changed.txt')).toBe('before');
    expect(text(copy, 'taken.txt')).toBe('taken');
    expect([...copy.begun.entries.keys()]).toEqual(['agent.mjs', 'changed.txt', 'taken.txt']);
    expect(copy.notes).toEqual([]);
    expect([basename(copy.root), lstatSync(join(base, 'scratch', 'copy')).mode & 0o077]).toEqual(['app', 0]);
    expect(existsSync(join(copy.root, '.orangebox'))).toBe(false);
  });

  it('has links to what is installed, here and above, and none that leads out otherwise', () => {
    mkdirSync(join(cwd, 'node_modules'));
    mkdirSync(join(base, 'home', 'node_modules'));
    writeFileSync(join(base, 'home', 'package.json'), '{}');
    put('a.txt', 'alpha');
    symlinkSync('a.txt', join(cwd, 'in'));
    symlinkSync(join(cwd, 'a.txt'), join(cwd, 'whole'));
    symlinkSync('../..', join(cwd, 'out'));
    const copy = copyOf(recorded([], []));
    expect(readlinkSync(join(copy.root, 'node_modules'))).toBe(join(cwd, 'node_modules'));
    expect(readlinkSync(join(copy.root, '..', 'node_modules'))).toBe(join(base, 'home', 'node_modules'));
    expect(lstatSync(join(copy.root, '..', 'package.json')).isFile()).toBe(true);
    expect(readlinkSync(join(copy.root, 'whole'))).toBe(join(copy.root, 'a.txt'));
    expect(text(copy, 'in')).toBe('alpha');
    expect(existsSync(join(copy.root, 'out'))).toBe(false);
    expect(copy.notes).toEqual(['not copied: out leads out of the working directory']);
  });

  it('takes no content of a recording that is not to be trusted, but the same from the present file', () => {
    put('same.txt', 'same');
    put('other.txt', 'other now');
    put('.env', 'secret');
    const files = recorded(
      [
        file('same.txt', 'same'),
        file('other.txt', 'before'),
        { path: '.env', type: 'file', mode: 0o600, sizeBytes: 6, keyedHash: keyedHash(hashOf('secret')) },
      ],
      ['same.txt', 'other.txt', '.env'].map((path): FileChange => ({ kind: 'changed', file: file(path, 'after') })),
    );
    const copy = copyOf(files, { store: undefined });
    expect(['same.txt', 'other.txt', '.env'].map((path) => text(copy, path))).toEqual(['same', 'other now', 'secret']);
    expect(copy.notes).toEqual(['not as it was before the run: other.txt']);
    expect(copy.notRestored.map(({ path }) => path)).toEqual(['other.txt']);
  });

  it('has all that is there now where the recording is not to be trusted, whatever it says that the run made', () => {
    put('config.json', 'present');
    put('lib/guard.mjs', 'present');
    symlinkSync('config.json', join(cwd, 'link'));
    const made = ['config.json', 'lib/guard.mjs', 'link'].map(
      (path): FileChange => ({ kind: 'created', file: file(path, 'made') }),
    );
    const copy = copyOf(
      recorded(
        [{ path: 'config.json', type: 'file', mode: 0o777, sha256: hashOf('present') }],
        [{ kind: 'deleted', file: { path: 'config.json', type: 'file', mode: 0o777 } }, ...made],
      ),
      { store: undefined },
    );
    expect([text(copy, 'config.json'), text(copy, 'lib/guard.mjs'), text(copy, 'link')]).toEqual(
      Array(3).fill('present'),
    );
    expect(lstatSync(join(copy.root, 'config.json')).mode).toBe(lstatSync(join(cwd, 'config.json')).mode);
    expect(copy.notes).toEqual(['lib/guard.mjs', 'link'].map((path) => `not as it was before the run: ${path}`));
  });

  it('is not made where the entry file cannot be what it was', () => {
    put('agent.mjs', 'after');
    const files = recorded(
      [{ ...file('agent.mjs', ''), sha256: '0'.repeat(64) }],
      [{ kind: 'changed', file: file('agent.mjs', 'after') }],
    );
    expect(() => copyOf(files)).toThrow(expect.objectContaining({ code: 'OBX_REPLAY_ENTRY' }));
  });
});

describe('files are compared', () => {
  it('before: what the run did not change, and is another now', () => {
    put('same.txt', 'same');
    put('other.txt', 'OTHER');
    put('changed.txt', 'whatever');
    const files = recorded(
      [file('same.txt', 'same'), file('other.txt', 'other'), file('gone.txt', 'gone'), file('changed.txt', 'before')],
      [{ kind: 'changed', file: file('changed.txt', 'after') }],
    );
    expect(changedSince(files, seeTree(cwd), { root: cwd, keyedHash })).toEqual([
      { name: 'other.txt', recorded: hashOf('other'), live: hashOf('OTHER') },
      { name: 'gone.txt', recorded: hashOf('gone') },
    ]);
  });

  it('after: all that was to be left, and nothing else', () => {
    put('edited.txt', 'edited since');
    put('touched.txt', 'as ever');
    const files = recorded(
      [file('edited.txt', 'was'), file('touched.txt', 'as ever')],
      [
        { kind: 'created', file: file('right.txt', 'right') },
        { kind: 'created', file: file('wrong.txt', 'right') },
        { kind: 'created', file: file('absent.txt', 'right') },
      ],
    );
    const copy = copyOf(files);
    for (const [path, content] of [
      ['right.txt', 'right'],
      ['wrong.txt', 'wrong'],
      ['more.txt', 'more'],
      ['edited.txt', 'edited since'],
      ['touched.txt', 'as ever'],
    ] as const) {
      writeFileSync(join(copy.root, path), content);
    }
    expect(writtenOtherwise(files, copy.begun, { root: copy.root, original: cwd, keyedHash })).toEqual([
      { name: 'absent.txt', recorded: hashOf('right') },
      { name: 'more.txt', live: sha256Of(Buffer.from('more')) },
      { name: 'wrong.txt', recorded: hashOf('right'), live: hashOf('wrong') },
    ]);
  });
});
