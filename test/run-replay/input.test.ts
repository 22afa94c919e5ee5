/** Standard input is on record: what was typed comes from there, in its place, whatever stands behind the replay's own. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { InputPiece } from '@orangebox/schema';
import { afterAll, describe, expect, it } from 'vitest';
import { cliOnTerminal, hasTerminal, type RunningCli, startCli } from '../cli/spawn.ts';
import { cleanUp, KEY, placeProgram, type RecordedProgram, recordProgram } from './harness.ts';
import { type Change, rewriteRecording, rewritten, segmentsOf } from './replay-rewrite.ts';

afterAll(cleanUp);

/** Writes one text after another, each after some milliseconds, and then ends the input. */
const typing =
  (...texts: (string | number)[]) =>
  ({ child: { stdin } }: RunningCli): void => {
    const next = (i: number): void => {
      const text = texts[i];
      if (text === undefined) stdin?.end();
      else if (typeof text === 'number') setTimeout(() => next(i + 1), text);
      else stdin?.write(text, () => next(i + 1));
    };
    next(0);
  };
/** What a person types after each question, in pieces, some of it before the answer has come. */
const TYPED: readonly (readonly (string | number)[])[] = [
  [80, 'Hello\n'],
  [10, 'Where', 40, ' to?\n', 5, 'thr'],
  ['ee\n'],
  [150, 'fo', 5, 'ur\n'],
  [30, 'five', 20, ' and\n'],
  [60, 'six\ntoo much\n'],
];
function chatting(running: RunningCli): void {
  const { stdin } = running.child;
  void (async () => {
    for (const [turn, parts] of TYPED.entries()) {
      await running.said(`${turn}> `);
      for (const part of parts) {
        if (typeof part === 'number') await sleep(part);
        else stdin?.write(part);
      }
    }
  })();
}
/** What a replay has to leave alone. */
const garbage = typing('garbage\n', 100, '\u0003\u0004more\n'.repeat(1000));
const open = (): void => undefined;

/** What of standard input is on record. */
function inputOf(run: RecordedProgram): InputPiece[] {
  const pieces: InputPiece[] = [];
  const files = segmentsOf(run.directory);
  for (const file of files) {
    rewritten(readFileSync(file), (record) => {
      if (record.type === 'input') pieces.push(...record.pieces);
      return record;
    });
  }
  return pieces;
}

async function expectSame(run: RecordedProgram, times: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    const again = await run.replay(i % 2 === 0 ? {} : { type: garbage });
    expect(again.stdout).toBe(run.recorded.stdout);
    expect(again.own).toBe(run.recorded.own);
    expect(again.receipt).toMatchObject({ missing: 0, extra: 0, served: run.requests });
    expect([again.code, again.receipt?.verdict]).toEqual(run.requests === 0 ? [13, 'nothing_served'] : [0, 'replayed']);
  }
}

describe('a chat with a person', () => {
  it('is given again 10 times as it was', { timeout: 120_000 }, async () => {
    const run = await recordProgram({ file: 'input-chat.mjs', type: chatting });
    expect(run.recorded.code).toBe(5);
    expect(run.recorded.stdout).toContain('5> ');
    expect(run.requests).toBe(6);
    await expectSame(run, 10);
  });
});

describe('a program that reads', () => {
  it.each([
    ['lines', [200, 'a\nb\n', 50, 'c', 50, 'd\ne\n', 50, 'f']],
    ['data', [200, 'a', 60, 'x'.repeat(200_000), 60, 'b\n']],
    ['paused', [300, 'one\n', 50, 'two\n', 250, 'three\n']],
    ['whole', [100, 'grüße\n', 100, 'more']],
    ['pieces', [100, 'grü', 300, 'ße und mehr\n']],
  ] as const)('%s', { timeout: 60_000 }, async (way, texts) => {
    const run = await recordProgram({ file: 'input.mjs', args: [way], type: typing(...texts) });
    expect(run.recorded.code).toBe(0);
    expect(run.recorded.stdout).not.toBe('');
    expect(run.said.join()).not.toContain('not replayable');
    await expectSame(run, 4);
  });
});

describe('a secret that is typed in', () => {
  it('has its token on record, and in the replay', async () => {
    const type = (running: RunningCli): void => {
      running.child.stdin?.write('a\n');
      const rest = [50, `b ${KEY.slice(0, 9)}`, 50, KEY.slice(9), 50, ' c\n'];
      void running.said('1: a').then(() => typing(...rest)(running));
    };
    const run = await recordProgram({ file: 'input.mjs', args: ['lines'], type });
    expect(run.recorded.stdout).toContain(`2: b ${KEY} c`);
    const again = await run.replay();
    expect(again.stdout).toBe(run.recorded.stdout.replace(KEY, '{{secret:env.OPENAI_API_KEY}}'));
    const kept = inputOf(run).map(({ bytes }) => Buffer.from(bytes, 'base64').toString());
    expect(kept.join('')).toBe('a\nb {{secret:env.OPENAI_API_KEY}} c\n');
    expect(kept.length).toBeGreaterThan(2);
  });
});

describe('a program that reads otherwise than recorded', () => {
  const edited = async (way: string, from: string, to: string, ...texts: (string | number)[]): Promise<unknown> => {
    const run = await recordProgram({ file: 'input.mjs', args: [way], type: typing(...texts) });
    const file = join(run.directory, 'input.mjs');
    writeFileSync(file, readFileSync(file, 'utf8').replace(from, to));
    const { receipt } = await run.replay();
    return receipt?.divergence;
  };

  it('is stopped where it reads more', async () => {
    const divergence = await edited('whole', 'readFileSync(0).length', 'readFileSync(0).length, readFileSync(0)', 'a');
    expect(divergence).toMatchObject({ kind: 'extra' });
  });

  it('is stopped where it reads less', async () => {
    const divergence = await edited('data', "process.stdin.on('data'", "process.stdin.pause().once('never'", 200, 'a');
    expect(divergence).toMatchObject({ kind: 'missing' });
  });

  it('is stopped where it reads in another way', async () => {
    const divergence = await edited('pieces', 'const bytes = Buffer.alloc(8)', 'const bytes = readFileSync(0)', 'a');
    expect(divergence).toMatchObject({ kind: 'extra' });
  });
});

describe('a recording of input that nobody can have typed', () => {
  const piece = (part: object): object => ({ seq: 100_000, bytes: '', ...part });
  it.each<[string, object[]]>([
    ['huge', [piece({ bytes: 'QUFB'.repeat(12 * 1024 * 1024) })]],
    ['no base64', [piece({ bytes: '<script>' })]],
    ['behind the end', [piece({ bytes: 'QQ==' })]],
    ['a second end', [piece({ isEnd: true })]],
    ['an end with bytes', [piece({ seq: 0, isEnd: true, bytes: 'QQ==' })]],
    ['an unknown error', [piece({ by: 'readSync', errorCode: '__proto__' })]],
    ['an unknown function', [piece({ by: 'eval' })]],
    ['no number', [piece({ seq: 'x' })]],
  ])('%s: is damage', { timeout: 30_000 }, async (_what, pieces) => {
    const run = await recordProgram({ file: 'input.mjs', args: ['lines'], type: typing(100, 'a\n') });
    const change: Change = (record) =>
      record.type === 'runEnd' ? [{ type: 'input', pieces } as never, record] : record;
    rewriteRecording(run.directory, change);
    const again = await run.replay();
    expect([again.code, again.signal]).toEqual([4, null]);
  });
});

describe('input beyond the bound', () => {
  it('is named, and leaves the program what it is', { timeout: 60_000 }, async () => {
    const texts = Array.from({ length: 17 }, () => 'x'.repeat(1024 * 1024));
    const run = await recordProgram({ file: 'input.mjs', args: ['whole'], type: typing(...texts) });
    expect(run.said.join()).toContain('not replayable: standard input beyond 16 MiB');
    expect(run.recorded.stdout.length).toBeGreaterThan(17 * 1024 * 1024);
  });
});

describe.skipIf(!hasTerminal)('on a terminal', () => {
  it('is one in the replay too, without one', async () => {
    const directory = placeProgram({ file: 'input.mjs' });
    const words = [process.execPath, 'input.mjs', 'raw'];
    const how = { cwd: directory, stdin: 'aq', typedAt: 'raw true' };
    const recorded = await cliOnTerminal(['run', '--replayable', '--', ...words], how);
    const shown = 'raw true true\n';
    expect(recorded.stdout).toContain(shown);
    expect(recorded.stdout).toContain('key "');
    const again = await startCli(['replay', 'last', '--', ...words], { cwd: directory }).ended;
    expect(again.stdout).toBe(shown + 'key "aq"\n');
  });
});

describe('a program that reads nothing', () => {
  it.each(['nothing', 'never'])('ends at once where its input stays open, recorded and replayed: %s', async (way) => {
    const run = await recordProgram({ file: 'input.mjs', args: [way], type: open });
    expect(run.recorded).toMatchObject({ code: 0, signal: null, own: '' });
    const again = await run.replay({ type: open });
    expect(again).toMatchObject({ stdout: run.recorded.stdout, own: '', signal: null });
  });
});
