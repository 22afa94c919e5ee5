/** Functions that wait for a child give what the platform's give: while it is recorded, and from the record. */
import { pathToFileURL } from 'node:url';
import { tmpdir } from 'node:os';
import { afterEach, describe, expect, it } from 'vitest';
import { hookChildren } from './child-hooks.ts';
import type { SyncChildResult, SyncChildStart, Undo } from './ports.ts';

type Loose = (...args: unknown[]) => unknown;
const platform = process.getBuiltinModule('node:child_process') as unknown as { [name: string]: Loose };

let undo: Undo = () => {};
afterEach(() => undo());

/** With hooks that start processes and note what they leave, or give what was noted. */
function hook(starts: SyncChildStart[], left: SyncChildResult[], isReplay = false): void {
  undo();
  undo = hookChildren(
    {
      spawn: (_child, _start, real) => real(),
      runSync(start, real) {
        starts.push(start);
        if (isReplay) return left.shift() as SyncChildResult;
        const result = real();
        left.push({ ...result });
        return result;
      },
    },
    'run-0',
  );
}

function outcome(act: () => unknown): unknown {
  try {
    return seen(act());
  } catch (error) {
    return { thrown: seen(error) };
  }
}

/** All that a program can look at, but for the number of the process. */
function seen(value: unknown, depth = 0): unknown {
  if (Buffer.isBuffer(value)) return `bytes ${value.toString('latin1')}`;
  if (Array.isArray(value)) return value.map((one) => seen(one, depth));
  if (typeof value !== 'object' || value === null) return value;
  if (depth > 2) return 'deeper';
  const kind = value instanceof Error ? { kind: value.name, message: value.message } : {};
  const members = Object.entries(value).map(([name, one]): [string, unknown] => [
    name,
    name === 'pid' ? Number(one) > 0 : seen(one, depth + 1),
  ]);
  return { ...kind, keys: Object.keys(value), ...Object.fromEntries(members) };
}

const both = ['-c', 'echo out; echo err >&2; exit 3'];
const calls: { [name: string]: () => unknown } = {
  spawnSync: () => platform['spawnSync']?.('sh', both),
  'spawnSync as text': () => platform['spawnSync']?.('sh', both, { encoding: 'utf8' }),
  'spawnSync as hex': () => platform['spawnSync']?.('sh', both, { encoding: 'hex' }),
  'spawnSync as bytes': () => platform['spawnSync']?.('sh', both, { encoding: 'buffer' }),
  'spawnSync in an encoding that is none': () => platform['spawnSync']?.('sh', both, { encoding: 'nope' }),
  'spawnSync of what says nothing': () => platform['spawnSync']?.('true', { encoding: 'utf8' }),
  'spawnSync without output': () => platform['spawnSync']?.('sh', both, { stdio: 'ignore' }),
  'spawnSync with some output': () => platform['spawnSync']?.('sh', both, { stdio: ['ignore', 'pipe', 'ignore'] }),
  'spawnSync with few entries': () => platform['spawnSync']?.('sh', both, { stdio: ['ignore'] }),
  'spawnSync with an entry of none': () =>
    platform['spawnSync']?.('sh', both, { stdio: ['pipe', 'pipe', 'pipe', null] }),
  'spawnSync of what cannot be started': () => platform['spawnSync']?.('no-such-program-here', ['a']),
  'spawnSync of what cannot be started, as text': () =>
    platform['spawnSync']?.('no-such-program-here', { encoding: 'utf8' }),
  'spawnSync that is too much': () =>
    platform['spawnSync']?.('sh', ['-c', 'echo much too much; exec sleep 20'], { maxBuffer: 4 }),
  'spawnSync that is too long': () => platform['spawnSync']?.('sleep', ['20'], { timeout: 50 }),
  'spawnSync of a shell': () =>
    platform['spawnSync']?.('echo "$0" a; echo', ['b', 'c'], { shell: true, encoding: 'utf8' }),
  'spawnSync of another shell': () => platform['spawnSync']?.('echo hi', { shell: '/bin/sh', encoding: 'utf8' }),
  'spawnSync under another name': () =>
    platform['spawnSync']?.('sh', ['-c', 'echo $0'], { argv0: 'other', encoding: 'utf8' }),
  'spawnSync elsewhere': () => platform['spawnSync']?.('pwd', { cwd: pathToFileURL(tmpdir()), encoding: 'utf8' }),
  'spawnSync with input': () => platform['spawnSync']?.('cat', { input: 'Grüße' }),
  'spawnSync with words': () => platform['spawnSync']?.('cat', { input: new Uint16Array([0x4f4f, 0x4b4b]) }),
  'spawnSync with an environment': () =>
    platform['spawnSync']?.('sh', ['-c', 'echo $OWN $HEIR'], {
      env: Object.assign(Object.create({ HEIR: 'heir' }) as object, { OWN: 'own', PATH: process.env['PATH'] }),
      encoding: 'utf8',
    }),
  'spawnSync by a signal': () => platform['spawnSync']?.('sh', ['-c', 'kill -9 $$']),
  execFileSync: () => platform['execFileSync']?.('echo', ['hello']),
  'execFileSync as text': () => platform['execFileSync']?.('echo', ['hello'], { encoding: 'utf8' }),
  'execFileSync without options': () => platform['execFileSync']?.('echo', null, null),
  'execFileSync with a callback': () => platform['execFileSync']?.('echo', () => {}, { encoding: 'utf8' }),
  'execFileSync that fails': () => platform['execFileSync']?.('sh', both, { stdio: 'pipe' }),
  'execFileSync that fails, as text': () => platform['execFileSync']?.('sh', both, { stdio: 'pipe', encoding: 'utf8' }),
  'execFileSync that fails under another name': () =>
    platform['execFileSync']?.('sh', both, { stdio: 'pipe', argv0: 'other' }),
  'execFileSync of what cannot be started': () => platform['execFileSync']?.('no-such-program-here', ['a']),
  'execFileSync that is too much': () =>
    platform['execFileSync']?.('sh', ['-c', 'echo much too much; exec sleep 20'], { maxBuffer: 4 }),
  execSync: () => platform['execSync']?.('echo hello'),
  'execSync as text': () => platform['execSync']?.('echo hello', { encoding: 'utf8' }),
  'execSync without a shell, which it takes all the same': () =>
    platform['execSync']?.('echo a; echo b', { shell: false }),
  'execSync without options': () => platform['execSync']?.('echo hello', null),
  'execSync that fails': () => platform['execSync']?.('echo out; echo err >&2; exit 3', { stdio: 'pipe' }),
};

const refused: { [name: string]: () => unknown } = {
  'no file': () => platform['spawnSync']?.(''),
  'a file that is a number': () => platform['spawnSync']?.(5),
  'arguments that are text': () => platform['spawnSync']?.('true', 'a'),
  'options that are null': () => platform['spawnSync']?.('true', [], null),
  'options that are a list': () => platform['spawnSync']?.('true', [], []),
  'options that are a callback': () => platform['execFileSync']?.('true', [], () => {}),
  'options that are text': () => platform['execFileSync']?.('true', [], 'x'),
  'a kind of descriptor that is none': () => platform['spawnSync']?.('true', [], { stdio: 'nope' }),
  'a descriptor that is none': () => platform['spawnSync']?.('true', [], { stdio: ['pipe', {}] }),
  'a number for descriptors': () => platform['spawnSync']?.('true', [], { stdio: 5 }),
  'a channel': () => platform['spawnSync']?.('true', [], { stdio: ['pipe', 'pipe', 'pipe', 'ipc'] }),
  'a time before now': () => platform['spawnSync']?.('true', [], { timeout: -1 }),
  'a size that is text': () => platform['execFileSync']?.('true', [], { maxBuffer: 'x' }),
  'a signal that is none': () => platform['execSync']?.('true', { killSignal: 'SIGNOPE' }),
  'input that is a number': () => platform['spawnSync']?.('true', [], { input: 5 }),
  'a directory that is a number': () => platform['spawnSync']?.('true', [], { cwd: 5 }),
  'a shell that is a number': () => platform['spawnSync']?.('true', [], { shell: 5 }),
  'a name that is a number': () => platform['spawnSync']?.('true', [], { argv0: 5 }),
  'a command that is a number': () => platform['execSync']?.(5),
  'an argument that ends early': () => platform['spawnSync']?.('true', ['a\0b']),
};

describe('a child that is waited for', () => {
  it.each(Object.entries(calls))('leaves what it leaves without us: %s', (_, act) => {
    const expected = outcome(act);
    const [starts, left]: [SyncChildStart[], SyncChildResult[]] = [[], []];
    hook(starts, left);
    expect(outcome(act)).toEqual(expected);
    expect(starts).toHaveLength(1);
    const again: SyncChildStart[] = [];
    hook(again, left, true);
    expect(outcome(act)).toEqual(expected);
    expect(again).toEqual(starts);
  });

  it.each(Object.entries(refused))('is refused by the platform, and on no record: %s', (_, act) => {
    const expected = outcome(act);
    expect(expected).toHaveProperty('thrown.code');
    for (const isReplay of [false, true]) {
      const starts: SyncChildStart[] = [];
      hook(starts, [], isReplay);
      expect(outcome(act)).toEqual(expected);
      expect(starts).toEqual([]);
    }
  });

  it('has what really runs on record, and no piece of its command for a name', () => {
    const starts: SyncChildStart[] = [];
    hook(starts, []);
    platform['execSync']?.('true /path/to/secret');
    platform['execFileSync']?.('/bin/sh', ['-c', 'true']);
    platform['spawnSync']?.('true', ['a', 'b'], { shell: true });
    platform['spawnSync']?.('true', [1, 2], { cwd: tmpdir() });
    expect(starts.map(({ file, argv }) => [file, ...argv])).toEqual([
      ['sh', '-c', 'true /path/to/secret'],
      ['sh', '-c', 'true'],
      ['sh', '-c', 'true a b'],
      ['true', '1', '2'],
    ]);
    expect(starts.map(({ cwd }) => cwd === '')).toEqual([true, true, true, false]);
  });

  it('is told whose child it is, whatever its environment', () => {
    hook([], []);
    const ask = ['-c', 'echo $ORANGEBOX_RUN_PARENT'];
    const given = { PATH: process.env['PATH'], ORANGEBOX_RUN_PARENT: 'run-before' };
    expect(platform['execFileSync']?.('sh', ask, { encoding: 'utf8' })).toBe('run-0\n');
    expect(platform['execFileSync']?.('sh', ask, { encoding: 'utf8', env: given })).toBe('run-0\n');
  });

  it('keeps descriptors beyond the third', () => {
    const act = (): unknown =>
      platform['spawnSync']?.('sh', ['-c', 'echo more >&3'], { stdio: ['ignore', 'pipe', 'pipe', 'pipe'] });
    const expected = outcome(act);
    hook([], []);
    expect(outcome(act)).toEqual(expected);
    expect(expected).toMatchObject({ output: [null, 'bytes ', 'bytes ', 'bytes more\n'] });
  });
});
