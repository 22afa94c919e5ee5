/** Files of a recorded run: a replay begins with what was there, changes what was changed, and all of it in a copy. */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { FileState, SegmentRecord } from '@orangebox/schema';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLI, cleanEnv, startCli } from '../cli/spawn.ts';
import { startProvider } from '../fixtures/provider/server.mjs';
import { cleanUp, KEY, placeProgram } from './harness.ts';
import { rewriteRecording } from './replay-rewrite.ts';

/** Each entry below a directory, with what it holds; recordings and what is installed apart. */
function treeOf(root: string, prefix = ''): Record<string, string> {
  const tree: Record<string, string> = {};
  for (const name of readdirSync(join(root, prefix)).sort()) {
    const path = join(prefix, name);
    if (name === 'node_modules' || path === '.orangebox') continue;
    const stats = lstatSync(join(root, path));
    if (stats.isDirectory()) Object.assign(tree, { [path]: 'directory' }, treeOf(root, path));
    else if (stats.isSymbolicLink()) tree[path] = `link to ${readlinkSync(join(root, path))}`;
    else
      tree[path] = `${stats.mode & 0o777} ${createHash('sha256')
        .update(readFileSync(join(root, path)))
        .digest('hex')}`;
  }
  return tree;
}

const withoutGit = (tree: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(tree).filter(([path]) => path !== '.git' && !path.startsWith('.git/')));

let directory: string;
let temporary: string;
let calls: string;
let env: Record<string, string>;
let runId: string;
let recorded: { stdout: string; own: string; code: number | null };
const command = [process.execPath, 'edits.mjs'];

/** Programs of the path that note that they were started. */
function notingPrograms(): string {
  const bin = join(temporary, 'bin');
  mkdirSync(bin);
  for (const name of ['git', 'sh', 'sed', 'date']) {
    const real = execFileSync('/bin/sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
    writeFileSync(join(bin, name), `#!/bin/bash\necho ${name} >> ${calls}\nexec ${real} "$@"\n`);
    chmodSync(join(bin, name), 0o755);
  }
  return bin;
}

const started = (): number => (existsSync(calls) ? readFileSync(calls, 'utf8').split('\n').length - 1 : 0);

async function replayed(options: string[] = [], words = command) {
  const receiptFile = join(temporary, 'receipt.json');
  rmSync(receiptFile, { force: true });
  const args = ['replay', runId, '--receipt', receiptFile, ...options, '--', ...words];
  const result = await startCli(args, { cwd: directory, env: { ...env, TMPDIR: temporary } }).ended;
  const end = result.stderr.search(/^(?:not )?replayed/m);
  const receipt = existsSync(receiptFile) ? JSON.parse(readFileSync(receiptFile, 'utf8')) : undefined;
  return { ...result, own: end < 0 ? result.stderr : result.stderr.slice(0, end), receipt };
}

const copies = (): string[] => readdirSync(temporary).filter((name) => name.startsWith('orangebox-replay-'));

beforeAll(async () => {
  temporary = mkdtempSync(join(tmpdir(), 'obx-files-'));
  calls = join(temporary, 'calls');
  const bin = notingPrograms();
  directory = placeProgram({ file: 'edits.mjs' });
  writeFileSync(join(directory, 'notes.txt'), 'first\nsecond\n');
  writeFileSync(join(directory, 'gone.txt'), 'to be removed\n');
  writeFileSync(join(directory, '.env'), 'PIN=1234\n');
  const provider = await startProvider({ script: '' });
  env = {
    OPENAI_API_KEY: KEY,
    OPENAI_BASE_URL: `${provider.url}/v1`,
    PATH: `${bin}${delimiter}${process.env['PATH'] ?? ''}`,
  };
  try {
    const result = await startCli(['run', '--replayable', '--', ...command], { cwd: directory, env }).ended;
    const own = result.stderr
      .split('\n')
      .filter((line) => !line.startsWith('orangebox '))
      .join('\n');
    recorded = { stdout: result.stdout, own, code: result.code };
    runId = /recorded (run-[0-9a-f]{12})/.exec(result.stderr)?.[1] ?? '';
    expect(result.stderr).not.toContain('not replayable');
  } finally {
    await provider.close();
  }
});

afterAll(() => {
  cleanUp();
  rmSync(temporary, { recursive: true, force: true });
});

describe('an agent that edits files', () => {
  it('is recorded with what it and its child processes did', () => {
    expect(recorded.code).toBe(3);
    expect(recorded.stdout).toContain(`in ${directory}, of ${join(directory, 'edits.mjs')}`);
    expect(recorded.stdout).toContain('"FIRST\\nsecond\\nthird\\n"');
    expect(recorded.own).toBe(`at ${directory}\n`);
    expect(started()).toBeGreaterThan(10);
  });

  it('does the same again, twice, in a copy that is gone afterwards; nothing is started and nothing else is changed', async () => {
    const before = treeOf(directory);
    const startedBefore = started();
    for (let i = 0; i < 2; i++) {
      const again = await replayed();
      expect(again.stderr).toMatch(/^replayed/m);
      expect(again.code).toBe(0);
      expect(again.receipt).toMatchObject({
        verdict: 'replayed',
        rungs: { exact: 0, canonical: 0, unified: 3, rule: 0 },
        processes: { started: 0 },
        files: { isCopy: true, notes: [] },
        warnings: [],
      });
      const copy = /in (\S+), of/.exec(again.stdout)?.[1] ?? '';
      expect(copy.startsWith(join(temporary, 'orangebox-replay-'))).toBe(true);
      expect(again.stdout.replaceAll(copy, directory)).toBe(recorded.stdout);
      expect(again.own.replaceAll(copy, directory)).toBe(recorded.own);
      expect(copies()).toEqual([]);
    }
    expect(treeOf(directory)).toEqual(before);
    expect(started()).toBe(startedBefore);
  });

  it('leaves in the copy, where that is kept, the files that the run left', async () => {
    const again = await replayed(['--keep']);
    const kept = /the copy of the working directory is kept: (\S+)/.exec(again.stderr)?.[1] ?? '';
    try {
      expect(kept).not.toBe('');
      // But for the paths in them, and the state of git itself.
      const left = withoutGit(treeOf(kept));
      const right = withoutGit(treeOf(directory));
      for (const path of ['out/made.json', 'stdin.txt', 'a/b/where.txt']) {
        expect(readFileSync(join(kept, path), 'utf8').replaceAll(kept, directory)).toBe(
          readFileSync(join(directory, path), 'utf8'),
        );
        delete left[path];
        delete right[path];
      }
      expect(left).toEqual(right);
      expect(lstatSync(join(kept, '..', '..')).mode & 0o077).toBe(0);
    } finally {
      for (const name of copies()) rmSync(join(temporary, name), { recursive: true });
    }
  });

  it('is run from the copy where it is named by its path', async () => {
    const again = await replayed([], [process.execPath, join(directory, 'edits.mjs')]);
    expect(again.receipt).toMatchObject({ verdict: 'replayed' });
  });

  it('has a file that it writes otherwise named', async () => {
    const source = readFileSync(join(directory, 'edits.mjs'), 'utf8');
    writeFileSync(join(directory, 'edits.mjs'), source.replace("'moved.txt', 'moved'", "'moved.txt', 'removed'"));
    try {
      const again = await replayed();
      expect(again.code).toBe(11);
      expect(again.stderr).toContain('not as recorded: file out/moved.txt');
      expect(again.receipt.warnings).toEqual(['changed since it was recorded: edits.mjs']);
    } finally {
      writeFileSync(join(directory, 'edits.mjs'), source);
    }
  });

  it('has a file named that changed since, and that the run did not', async () => {
    writeFileSync(join(directory, '.env'), 'PIN=5678\n');
    try {
      const again = await replayed();
      expect(again.receipt).toMatchObject({
        verdict: 'replayed',
        warnings: ['changed since it was recorded: .env'],
      });
    } finally {
      writeFileSync(join(directory, '.env'), 'PIN=1234\n');
    }
  });

  it('begins with what is on record however the file is now', async () => {
    const now = readFileSync(join(directory, 'notes.txt'));
    rmSync(join(directory, 'notes.txt'));
    try {
      expect((await replayed()).receipt).toMatchObject({ verdict: 'replayed', warnings: [] });
    } finally {
      writeFileSync(join(directory, 'notes.txt'), now);
    }
  });
});

describe('a recording that says something else of files', () => {
  const evil = (): string[] => [
    ...readdirSync(temporary).filter((name) => /evil/.test(name)),
    ...readdirSync(tmpdir()).filter((name) => /^obxevil/.test(name)),
    ...Object.keys(treeOf(directory)).filter((path) => /evil/.test(path)),
  ];
  const pristine = (): string => join(directory, '.orangebox', 'segments');
  let kept: string;
  beforeAll(() => {
    kept = join(temporary, 'pristine');
    execFileSync('cp', ['-r', pristine(), kept]);
  });
  const content = 'process.exit(9)';
  const sha256 = createHash('sha256').update(content).digest('hex');
  const file = (state: Partial<FileState>): FileState => ({
    path: 'obxevil',
    type: 'file',
    mode: 0o644,
    sha256,
    ...state,
  });

  async function replayedWith(state: FileState, options: string[] = []) {
    rmSync(pristine(), { recursive: true });
    execFileSync('cp', ['-r', kept, pristine()]);
    mkdirSync(join(directory, '.orangebox', 'files'), { recursive: true });
    writeFileSync(join(directory, '.orangebox', 'files', sha256), content);
    let isDone = false;
    rewriteRecording(directory, (record: SegmentRecord) => {
      if (record.type !== 'filesChanged' || record.child === undefined || isDone) return record;
      isDone = true;
      return { ...record, changes: [...record.changes, { kind: 'created', file: state }] };
    });
    expect(isDone).toBe(true);
    return replayed([...options, '--keep']);
  }

  it.each<[string, FileState]>([
    ['a path that leads out', file({ path: '../obxevil' })],
    ['a path that leads out on a way', file({ path: 'out/../../obxevil' })],
    ['an absolute path', file({ path: join(tmpdir(), 'obxevil') })],
    ['a hook of git', file({ path: '.git/hooks/pre-commit', mode: 0o755 })],
    ['the configuration of git', file({ path: '.GIT/config' })],
    ['a package', file({ path: 'node_modules/openai/index.mjs' })],
    ['a path with a NUL', file({ path: 'obxevil\0.txt' })],
    ['a program of another user', file({ mode: 0o4755 })],
    ['no hash but a path', file({ sha256: '../../obxevil' })],
  ])('is damaged where it names %s', async (_what, state) => {
    const before = treeOf(directory);
    const again = await replayedWith(state, ['--trust-files']);
    expect(again.receipt).toMatchObject({ verdict: 'damaged' });
    expect(again.code).toBe(4);
    const [copy = ''] = copies();
    expect(Object.keys(treeOf(join(temporary, copy))).filter((path) => /evil|hooks/.test(path))).toEqual([]);
    expect(evil()).toEqual([]);
    expect(treeOf(directory)).toEqual(before);
    for (const name of copies()) rmSync(join(temporary, name), { recursive: true });
  });

  it.each<[string, FileState]>([
    ['a link out', file({ type: 'link', target: '../../../obxevil' })],
    ['a link to a package', file({ type: 'link', target: 'node_modules/openai' })],
    ['an absolute link', file({ type: 'link', target: '/etc/passwd' })],
    ['a content that is not there', file({ sha256: '0'.repeat(64) })],
    ['another branch than git has', file({ path: '.git/HEAD' })],
  ])('is not followed where it has %s, which is told', async (_what, state) => {
    const again = await replayedWith(state, ['--trust-files']);
    expect(again.stderr).toContain(`not changed as on record: ${state.path}`);
    for (const name of copies()) rmSync(join(temporary, name), { recursive: true });
  });

  it('has nothing of its files used where it was not made here, since a program loads what it finds', async () => {
    const again = await replayedWith(file({ path: 'obxevil.mjs' }));
    expect(again.stderr).toContain('the files of this recording were not used');
    const [copy = ''] = copies();
    expect(Object.keys(treeOf(join(temporary, copy))).filter((path) => /evil/.test(path))).toEqual([]);
    for (const name of copies()) rmSync(join(temporary, name), { recursive: true });
  });
});

describe('a recording in which a worker says what its child processes did to files', () => {
  const content = 'process.exit(9)';
  const sha256 = createHash('sha256').update(content).digest('hex');

  it.each([
    ['is not trusted where its main thread says nothing', []],
    ['has nothing of it done, since workers record no files, however far it is trusted', ['--trust-files']],
  ])('%s', async (_what, options) => {
    const home = placeProgram({ file: 'edits.mjs' });
    writeFileSync(
      join(home, 'threads.mjs'),
      `import { spawn } from 'node:child_process';
      import { isMainThread, Worker } from 'node:worker_threads';
      if (isMainThread) new Worker(new URL(import.meta.url)).on('exit', () => console.log('end'));
      else spawn('true', { stdio: 'ignore' }).on('exit', () => process.exit());`,
    );
    const words = ['--', process.execPath, 'threads.mjs'];
    const result = await startCli(['run', '--replayable', ...words], { cwd: home }).ended;
    const id = /recorded (run-[0-9a-f]{12})/.exec(result.stderr)?.[1] ?? '';
    let threadId = 0;
    let added = 0;
    rewriteRecording(home, (record: SegmentRecord) => {
      if (record.type === 'runStart') threadId = record.threadId;
      if (record.type === 'runFiles' || record.type === 'filesChanged') return [];
      if (record.type !== 'child' || threadId === 0) return record;
      added++;
      const file: FileState = { path: 'obxevil.mjs', type: 'file', mode: 0o644, sha256 };
      return [record, { type: 'filesChanged', child: record.seq, changes: [{ kind: 'created', file }] }];
    });
    expect(added).toBe(1);
    mkdirSync(join(home, '.orangebox', 'files'), { recursive: true });
    writeFileSync(join(home, '.orangebox', 'files', sha256), content);
    const again = await startCli(['replay', id, ...options, '--keep', ...words], {
      cwd: home,
      env: { TMPDIR: temporary },
    }).ended;
    expect(again.stdout).toBe('end\n');
    const [copy = ''] = copies();
    const left = Object.keys(treeOf(join(temporary, copy)));
    for (const name of copies()) rmSync(join(temporary, name), { recursive: true });
    expect(left.some((path) => path.endsWith('threads.mjs'))).toBe(true);
    expect(left.filter((path) => /evil/.test(path))).toEqual([]);
  });
});

it('files that the output of a run goes to are no files of it, in its own directory too', () => {
  const place = placeProgram({ file: 'edits.mjs' });
  writeFileSync(
    join(place, 'prints.mjs'),
    "console.log(new Date().toISOString());\nawait fetch('http://127.0.0.1:1/').catch(() => console.error('nobody'));\n",
  );
  const toFiles = (name: string, ...words: string[]): void => {
    const [out, errors] = [`${name}.txt`, `${name}-errors.txt`].map((file) => openSync(join(place, file), 'w'));
    const args = [CLI, ...words, '--', process.execPath, 'prints.mjs'];
    spawnSync(process.execPath, args, { cwd: place, env: cleanEnv(), stdio: ['ignore', out, errors] });
  };
  toFiles('recorded', 'run', '--replayable');
  toFiles('again', 'replay', 'last');
  const read = (name: string): string => readFileSync(join(place, name), 'utf8');
  expect(read('again.txt')).toBe(read('recorded.txt'));
  expect(read('again-errors.txt')).toMatch(/^nobody\n(?:not )?replayed/);
  expect(read('again-errors.txt')).not.toContain('file recorded');
});
