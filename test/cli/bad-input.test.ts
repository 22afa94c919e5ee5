/** Whatever is wrong with the input: one clear line, a hint, the documented exit code, no stack trace. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AgentRun, Recording, writeAgentRun } from './recordings.ts';
import { cleanEnv, CLI, cli, type CliResult } from './spawn.ts';

let base: string;
let good: AgentRun;

beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), 'obx-cli-bad-'));
  chmodSync(base, 0o755);
  good = writeAgentRun(join(base, 'good/.orangebox'));
});

afterAll(() => rmSync(base, { recursive: true, force: true }));

/** A place of its own with a recording whose bytes were changed. */
function damaged(name: string, change: (bytes: Buffer) => Buffer): { cwd: string; segment: string } {
  const cwd = join(base, name);
  const recording = new Recording(join(cwd, '.orangebox'));
  recording.call({
    response: { id: 'x', choices: [{ index: 0, message: { role: 'assistant', content: 'marked answer' } }] },
  });
  return { cwd, segment: recording.write(change(recording.bytes())) };
}

function expectOneClearLine(result: CliResult, code: number, says: RegExp): void {
  expect(result.stderr).toMatch(says);
  const lines = result.stderr.trimEnd().split('\n');
  expect(lines[0]).toMatch(/^orangebox: \S/);
  expect(lines[1]).toMatch(/^ {2}hint: \S/);
  expect(lines).toHaveLength(2);
  expect(result.stderr).not.toMatch(/^\s+at /m);
  expect(result.stderr).not.toMatch(/node:internal|undefined|\[object/);
  expect(result.code).toBe(code);
}

describe('bad input ends in one clear line', () => {
  it('an unknown reference', () => {
    expectOneClearLine(cli(['show', 'deadbeef99'], { cwd: join(base, 'good') }), 3, /deadbeef99/);
  });

  it('a file where a copy should go', () => {
    const target = join(base, 'a-file');
    writeFileSync(target, '');
    expectOneClearLine(cli(['copy', 'good/.orangebox', target], { cwd: base }), 5, /a-file/);
  });

  it.runIf(existsSync('/dev/full'))('output to a disk that is full', () => {
    const out = openSync('/dev/full', 'w');
    try {
      const args = [CLI, 'ls', '--dir', join(base, 'good/.orangebox')];
      const { status, signal, stderr } = spawnSync(process.execPath, args, {
        cwd: base,
        env: cleanEnv(),
        stdio: ['ignore', out, 'pipe'],
        encoding: 'utf8',
      });
      expectOneClearLine({ code: status, signal, stdout: '', stderr }, 5, /ENOSPC/);
    } finally {
      closeSync(out);
    }
  });

  it('a reference that is too short', () => {
    expectOneClearLine(cli(['show', 'ab'], { cwd: join(base, 'good') }), 2, /too short/);
  });

  it('a reference of several calls where one is needed', () => {
    expectOneClearLine(cli(['replay', good.sessionId], { cwd: join(base, 'good') }), 2, /is a session of 2 calls/);
  });

  it('a reference with control characters', () => {
    const result = cli(['show', '\u001b[31mred\u0007'], { cwd: join(base, 'good') });
    expectOneClearLine(result, 3, /red/);
    expect(result.stderr).not.toMatch(/[\u001b\u0007]/);
  });

  it('no recordings anywhere', () => {
    const cwd = mkdtempSync(join(base, 'empty-'));
    expectOneClearLine(cli(['ls'], { cwd }), 3, /no recordings/);
  });

  it('a call where nothing is recorded', () => {
    const cwd = mkdtempSync(join(base, 'empty-'));
    expectOneClearLine(cli(['show', 'last'], { cwd }), 3, /nothing is recorded in \/.*empty-.* or above it/);
    expectOneClearLine(cli(['show', 'abcdef'], { cwd }), 3, /looked in \/.*empty-.* or above it/);
  });

  it('a word too many, a command that help does not know, a status that is none', () => {
    const cwd = join(base, 'good');
    expectOneClearLine(cli(['ls', 'extra'], { cwd }), 2, /too many arguments/);
    expectOneClearLine(cli(['help', 'shwo'], { cwd }), 2, /no command "shwo"[^]*orangebox show/);
    expectOneClearLine(cli(['ls', '--status', 'fine'], { cwd }), 2, /no status "fine"[^]*caller_abort/);
    expect(cli(['ls', '--status', 'caller abort'], { cwd })).toMatchObject({ code: 0, stdout: '' });
  });

  it('a directory that is not there', () => {
    expectOneClearLine(cli(['ls', '--dir', 'nowhere'], { cwd: base }), 3, /nowhere/);
  });

  it('a file that is no recording', () => {
    const file = join(base, 'notes.json');
    writeFileSync(file, '{"hello": "world"}');
    expectOneClearLine(cli(['show', file], { cwd: base }), 4, /notes\.json|not a/);
  });

  it('a file of random bytes with the name of a segment', () => {
    const file = join(base, 'x.obxs');
    writeFileSync(file, Buffer.from('this is not a segment at all'));
    expectOneClearLine(cli(['show', file], { cwd: base }), 4, /segment/);
  });

  it('a segment of a newer format version', () => {
    const { segment } = damaged('newer', (bytes) => {
      bytes.writeUInt32LE(99, 8);
      return bytes;
    });
    expectOneClearLine(cli(['show', segment], { cwd: base }), 4, /version|newer/);
  });

  it('a snapshot file of a newer format version', () => {
    const file = join(base, 'newer.snapshot.json');
    cli(['fetch', good.first.id, '-o', file], { cwd: join(base, 'good') });
    writeFileSync(file, readFileSync(file, 'utf8').replace('orangebox.snapshot/1', 'orangebox.snapshot/9'));
    expectOneClearLine(cli(['show', file], { cwd: base }), 4, /version|newer/);
  });

  it('a snapshot file with a wrong digest', () => {
    const file = join(base, 'wrong.snapshot.json');
    expect(cli(['fetch', good.second.id, '-o', file], { cwd: join(base, 'good') }).code).toBe(0);
    // The wire's bytes are changed; the digest stays as it was.
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll('Rome', 'Roma'));
    expectOneClearLine(cli(['show', file], { cwd: base }), 4, /digest/);
  });

  it('a segment whose call was changed', () => {
    const { cwd } = damaged('changed', (bytes) => {
      const at = bytes.indexOf('marked answer');
      bytes.write('market', at);
      return bytes;
    });
    const result = cli(['show', 'last'], { cwd });
    // What the list knows of it is shown all the same.
    expect(result.stdout).toMatch(/^● .* {2}[0-9a-f]{6} {2}200 /);
    expectOneClearLine(result, result.code === 3 ? 3 : 4, /damage|digest|gone|lost|checksum/i);
  });

  it('a segment that was cut within its first record', () => {
    const { segment } = damaged('torn', (bytes) => bytes.subarray(0, 40));
    expectOneClearLine(cli(['show', segment], { cwd: base }), 3, /holds no calls/);
  });

  it('an unknown command, with the one that was meant', () => {
    const result = cli(['shwo', 'last'], { cwd: base });
    expectOneClearLine(result, 2, /shwo/);
    expect(result.stderr).toContain('orangebox show');
  });

  it('an unknown option, a missing argument, a bad value', () => {
    expectOneClearLine(cli(['ls', '--modle', 'x'], { cwd: base }), 2, /--modle/);
    expectOneClearLine(cli(['show'], { cwd: base }), 2, /ref/);
    expectOneClearLine(cli(['ls', '-n', 'many'], { cwd: base }), 2, /whole number/);
    expectOneClearLine(cli(['ls', '--since', 'soon'], { cwd: base }), 2, /not a time/);
    expectOneClearLine(cli(['ls', '--kind', 'llama'], { cwd: join(base, 'good') }), 2, /no kind/);
    expectOneClearLine(cli(['purge'], { cwd: join(base, 'good') }), 2, /what to delete/);
    expectOneClearLine(cli(['run'], { cwd: base }), 2, /command/);
    expectOneClearLine(cli(['show', 'last', '--json', '--curl'], { cwd: join(base, 'good') }), 2, /exclude/);
  });

  it('deleting and resending without a terminal and without --yes', () => {
    const cwd = join(base, 'good');
    expectOneClearLine(cli(['purge', '--session', good.sessionId], { cwd }), 6, /needs a yes/);
    expect(cli(['ls', '--session', good.sessionId], { cwd }).stdout).not.toBe('');
  });

  it('a file that is there already', () => {
    const file = join(base, 'taken.json');
    writeFileSync(file, 'mine');
    expectOneClearLine(cli(['fetch', good.first.id, '-o', file], { cwd: join(base, 'good') }), 6, /there already/);
    expect(readFileSync(file, 'utf8')).toBe('mine');
  });

  it('a store directory that has files of another layout', () => {
    const store = mkdtempSync(join(base, 'fetched-'));
    cli(['fetch', 'last', '-o', store], { cwd: join(base, 'good') });
    const result = cli(['ls'], { cwd: join(base, 'good'), env: { ORANGEBOX_STORE: store } });
    expectOneClearLine(result, 3, /holds no v1/);
  });

  it('a store that is neither a bucket nor a directory, and a password in its address stays unsaid', () => {
    const result = cli(['ls'], { cwd: join(base, 'good'), env: { ORANGEBOX_STORE: 'https://me:hush@bucket/x' } });
    expectOneClearLine(result, 2, /ORANGEBOX_STORE names https:\/\/bucket\/x/);
    expect(result.stderr).not.toContain('hush');
  });

  it('a --wait that would take the reference for its time', () => {
    const result = cli(['show', '--wait', 'last'], { cwd: join(base, 'good') });
    expectOneClearLine(result, 2, /missing required argument|length of time/);
  });
});

describe('a directory that may not be read', () => {
  const uid = process.getuid?.() === 0 ? 65534 : undefined;
  const canRun = uid === undefined || cli(['--version'], { cwd: tmpdir(), uid }).code === 0;

  it.skipIf(!canRun)('ends in one clear line', () => {
    const cwd = join(base, 'forbidden');
    mkdirSync(cwd, { mode: 0o755 });
    cpSync(join(base, 'good/.orangebox'), join(cwd, '.orangebox'), { recursive: true });
    chmodSync(join(cwd, '.orangebox'), uid === undefined ? 0o000 : 0o700);
    for (const args of [['ls'], ['show', 'last'], []]) {
      const result = cli(args, { cwd, ...(uid === undefined ? {} : { uid }) });
      expectOneClearLine(result, 5, /permission|cannot be read/);
    }
    chmodSync(join(cwd, '.orangebox'), 0o700);
  });
});

describe('a stack trace', () => {
  it('is there for who asks for it with ORANGEBOX_DEBUG', () => {
    const result = cli(['show', 'deadbeef99'], { cwd: join(base, 'good'), env: { ORANGEBOX_DEBUG: '1' } });
    expect(result.stderr).toMatch(/^\s+at /m);
    expect(result.code).toBe(3);
  });
});
