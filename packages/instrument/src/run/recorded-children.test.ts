/** Children that are recorded do what they do without us, and what is kept of them is bounded. */
import type { ChildProcess, SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import type { ChildRecord, RunRecord } from '@orangebox/schema';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hookChildren } from './child-hooks.ts';
import { MAX_CHILD_BYTES } from './held-bytes.ts';
import { RecordedChildren } from './recorded-children.ts';
import type { Undo } from './ports.ts';

const MIB = 1024 * 1024;
const platform = process.getBuiltinModule('node:child_process');

let records: RunRecord[];
let gaps: string[];
let written: { stdout: string; stderr: string };
let children: RecordedChildren;
let undo: Undo = () => {};

function hook(): void {
  let seq = 0;
  children = new RecordedChildren({
    nextSeq: () => seq++,
    nextDelivery: () => seq++,
    record: (record) => void records.push(record),
    notReplayable: (what) => void gaps.push(what),
    write: (name, bytes) => {
      written[name] += bytes.toString();
    },
  });
  undo = hookChildren(children, undefined);
}

beforeEach(() => {
  records = [];
  gaps = [];
  written = { stdout: '', stderr: '' };
});
afterEach(() => undo());

const shell = (script: string, options: SpawnOptions = {}): ChildProcess =>
  platform.spawn('sh', ['-c', script], options);
const child = (): ChildRecord => records[0] as ChildRecord;
const bytesOf = (kind: 'stdout' | 'stderr'): Buffer =>
  Buffer.concat(child().events.flatMap((one) => (one.kind === kind ? [Buffer.from(one.bytes ?? '', 'base64')] : [])));

describe('a child that writes to the output of the program', () => {
  it('is on record, and the program has no stream of it, as without us', async () => {
    const facts = ({ stdin, stdout, stderr, stdio }: ChildProcess): unknown => [stdin, stdout, stderr, stdio];
    const plain = shell('true', { stdio: 'inherit' });
    const expected = facts(plain);
    await once(plain, 'close');
    hook();
    const running = shell('echo out; echo err >&2', { stdio: 'inherit' });
    expect(facts(running)).toEqual(expected);
    expect(await once(running, 'close')).toEqual([0, null]);
    expect(written).toEqual({ stdout: 'out\n', stderr: 'err\n' });
    expect([String(bytesOf('stdout')), String(bytesOf('stderr'))]).toEqual(['out\n', 'err\n']);
    expect(child().events.map(({ kind }) => kind)).not.toContain('stdout_end');
    expect(gaps).toEqual([]);
  });

  it('has written all of it when the program is told of its end', async () => {
    hook();
    const running = shell('seq 1 9000; seq 1 9000 >&2', { stdio: 'inherit' });
    const atExit = new Promise((resolve) => running.on('exit', () => resolve({ ...written })));
    const closed = once(running, 'close');
    const all = `${Array.from({ length: 9000 }, (_, i) => i + 1).join('\n')}\n`;
    expect(await atExit).toEqual({ stdout: all, stderr: all });
    await closed;
    expect(bytesOf('stdout').toString()).toBe(all);
    expect(
      child()
        .events.slice(-2)
        .map(({ kind }) => kind),
    ).toEqual(['exit', 'close']);
  });

  it('has ended although a process that it left behind could still write', async () => {
    hook();
    const running = shell('sleep 60 & echo $!', { stdio: 'inherit' });
    try {
      expect(await once(running, 'close')).toEqual([0, null]);
    } finally {
      process.kill(Number(written.stdout));
    }
    expect(records).toHaveLength(1);
  });

  it('is written down with what is there when the program ends before it', async () => {
    hook();
    const running = shell('echo early; echo $$ >&2; exec sleep 60', { stdio: ['ignore', 'inherit', 'pipe'] });
    try {
      // In this order: what it wrote to its output is there.
      await once(running.stderr as NonNullable<ChildProcess['stderr']>, 'data');
      children.end();
    } finally {
      running.kill();
    }
    expect(bytesOf('stdout').toString()).toBe('early\n');
    expect(written.stdout).toBe('early\n');
    await once(running, 'close');
  });

  it('keeps its own where it may outlive the program, which is told', async () => {
    hook();
    const running = shell('true', { stdio: 'inherit', detached: true });
    await once(running, 'close');
    expect(gaps).toEqual(['output of sh that did not come by the program']);
    expect(child().events.map(({ kind }) => kind)).toEqual(['spawn', 'exit', 'close']);
  });

  it('is told of where it writes to the other one', async () => {
    hook();
    await once(shell('true', { stdio: ['ignore', 2, 'pipe'] }), 'close');
    expect(gaps).toEqual(['output of sh that did not come by the program']);
  });
});

describe('what is kept of a child', () => {
  it('is bounded, and what is beyond is named; the program has it all', async () => {
    hook();
    const running = shell(`head -c ${20 * MIB} /dev/zero; echo end >&2`);
    let size = 0;
    running.stdout?.on('data', (bytes: Buffer) => (size += bytes.length));
    await once(running, 'close');
    expect([size, bytesOf('stdout').length, bytesOf('stderr').length]).toEqual([20 * MIB, MAX_CHILD_BYTES, 0]);
    expect(gaps).toEqual(['output of sh beyond 16 MiB']);
    expect(
      child()
        .events.map(({ kind }) => kind)
        .filter((kind) => kind.endsWith('_end')),
    ).toHaveLength(2);
  });

  it('is bounded for its input too', async () => {
    hook();
    const running = shell('wc -c');
    let said = '';
    running.stdout?.on('data', (bytes: Buffer) => (said += bytes.toString()));
    for (let i = 0; i < 5; i++) running.stdin?.write(Buffer.alloc(4 * MIB, i));
    running.stdin?.end('end');
    await once(running, 'close');
    expect(Number(said)).toBe(20 * MIB + 3);
    expect(Buffer.from(child().stdin, 'base64')).toHaveLength(MAX_CHILD_BYTES);
    expect(gaps).toEqual(['input of sh beyond 16 MiB']);
  });

  it('is bounded where the program waits for it', () => {
    hook();
    const { stdout } = platform.spawnSync('cat', { input: Buffer.alloc(17 * MIB, 1), maxBuffer: 32 * MIB });
    expect(stdout).toHaveLength(17 * MIB);
    expect([Buffer.from(child().stdin, 'base64').length, bytesOf('stdout').length]).toEqual([16 * MIB, 16 * MIB]);
    expect(gaps).toEqual(['input of cat beyond 16 MiB', 'output of cat beyond 16 MiB']);
  });

  it('has no bytes that the program has changed since', async () => {
    hook();
    const running = shell('cat > /dev/null');
    const bytes = Buffer.from('as given');
    running.stdin?.write(bytes, () => bytes.fill(0));
    running.stdin?.end();
    await once(running, 'close');
    expect(Buffer.from(child().stdin, 'base64').toString()).toBe('as given');
  });

  it('does not hold pipes that nobody records, which are named', async () => {
    hook();
    const running = shell('echo more >&3', { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] });
    running.stdio[3]?.on('error', () => {});
    (running.stdio[3] as NodeJS.ReadableStream).resume();
    await once(running, 'close');
    platform.spawnSync('true', { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] });
    expect(gaps).toEqual(['pipe to sh beyond its standard error', 'pipe to true beyond its standard error']);
  });
});

describe('a child that is refused', () => {
  const refused: { [name: string]: () => unknown } = {
    'a kind of descriptor that is none': () => shell('true', { stdio: 'nope' as 'pipe' }),
    'an entry that is none': () => shell('true', { stdio: ['pipe', 'nope' as 'pipe'] }),
    'a number for descriptors': () => shell('true', { stdio: 5 as never }),
    'two channels': () => shell('true', { stdio: ['ipc', 'ipc'] }),
    'an object that is no descriptor': () => shell('true', { stdio: [{} as never] }),
    'no options': () =>
      (Reflect.construct(platform.ChildProcess, []) as unknown as { spawn(options?: unknown): unknown }).spawn(),
  };

  it.each(Object.entries(refused))('is refused by the platform, and on no record: %s', (_, act) => {
    expect(act).toThrow();
    const expected = codeOf(act);
    hook();
    expect(codeOf(act)).toEqual(expected);
    children.end();
    expect(records).toEqual([]);
    expect(gaps).toEqual([]);
  });

  function codeOf(act: () => unknown): unknown {
    try {
      return act();
    } catch (error) {
      const { code, message } = error as Error & { code?: unknown };
      return [code, message];
    }
  }

  it('is on record where it could not be started, with output to the program too', async () => {
    hook();
    const running = platform.spawn('no-such-program-here', { stdio: 'inherit' });
    const [error] = (await once(running, 'error')) as [NodeJS.ErrnoException];
    expect(error.code).toBe('ENOENT');
    children.end();
    expect(child()).toMatchObject({
      pid: 0,
      events: [{ kind: 'error', error: { code: 'ENOENT' } }, { kind: 'close' }],
    });
  });
});

it('a child that the program gives up on has no error from outside on record', async () => {
  hook();
  const controller = new AbortController();
  const running = platform.spawn('sleep', ['60'], { signal: controller.signal });
  const failed = once(running, 'error');
  const closed = new Promise((resolve) => running.on('close', (...end) => resolve(end)));
  await once(running, 'spawn').catch(() => {});
  controller.abort();
  expect((await failed)[0]).toMatchObject({ name: 'AbortError' });
  expect(await closed).toEqual([null, 'SIGTERM']);
  expect(child().events.map(({ kind }) => kind)).not.toContain('error');
});
