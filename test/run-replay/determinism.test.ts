/** Which outside values reach the requests of a recorded program, a replay with other values, and one in time. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findRun, readRun } from '@orangebox/replay/process';
import { afterAll, describe, expect, it } from 'vitest';
import { startCli } from '../cli/spawn.ts';
import { inRepository } from '../helpers/repository.ts';
import { cleanUp, recordProgram, type RecordedProgram, type RunProgram } from './harness.ts';

afterAll(cleanUp);

async function surveyed(
  program: RunProgram,
  options: string[] = [],
): Promise<{ run: RecordedProgram; code: number | null; result: Survey }> {
  const run = await recordProgram(program);
  const command = [process.execPath, program.file, ...(program.args ?? [])];
  const { code, stdout, stderr } = await startCli(
    ['doctor', '--determinism', run.runId, '--json', ...options, '--', ...command],
    {
      cwd: run.directory,
      env: run.env,
    },
  ).ended;
  expect(stdout, stderr).not.toBe('');
  return { run, code, result: JSON.parse(stdout) as Survey };
}

interface Survey {
  baseline: string;
  places: number;
  replays: number;
  sources: { places: { source: string; at: string }[]; reached: { step: number; paths: string[] } }[];
  environmentOrder?: { step: number; paths: string[] };
}

describe('doctor --determinism', () => {
  it('names ten planted sources, each with its file and line and the request that it reaches first', async () => {
    const { code, result } = await surveyed({ file: 'sources.mjs' });
    expect(code).toBe(1);
    expect(result.baseline).toBe('replayed');
    const lines = readFileSync(inRepository('test/run-replay/programs/sources.mjs'), 'utf8').split('\n');
    const planted = lines.flatMap((line, i) => (/^ {2}await ask\((?!Object|'Lisbon')/.test(line) ? [i + 1] : []));
    expect(planted).toHaveLength(9);
    const told = result.sources.map(({ places, reached }) => {
      expect(places).toHaveLength(1);
      return { line: Number(/^sources\.mjs:(\d+):/.exec(places[0]?.at ?? '')?.[1]), step: reached.step };
    });
    expect(told.map(({ line }) => line)).toEqual(planted);
    // The ninth request is that of the environment's order.
    expect(told.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 10]);
    expect(result.sources.every(({ reached }) => reached.paths[0] === 'body.messages[0].content')).toBe(true);
    expect(result.environmentOrder).toMatchObject({ step: 9, paths: ['body.messages[0].content'] });
  });

  it('names none of an agent that only prints such values, and tries all of them at once', async () => {
    const { code, result } = await surveyed({ file: 'sources.mjs', args: ['clean'] });
    expect(result).toMatchObject({ baseline: 'replayed', sources: [], replays: 3 });
    expect(result.places).toBeGreaterThan(5);
    expect(code).toBe(0);
  });

  it('takes a program that does not end with another value for one that depends on it', async () => {
    const { code, result } = await surveyed({ file: 'sources.mjs', args: ['waits', String(Date.now() + 864e6)] }, [
      '--timeout',
      '5',
    ]);
    expect(code).toBe(1);
    expect(result.sources.length).toBeGreaterThan(0);
    expect(result.sources.every(({ places }) => places.every(({ source }) => source === 'Date.now'))).toBe(true);
  });

  it('tells nothing of a program that does not even do as recorded with the recorded values', async () => {
    const run = await recordProgram({ file: 'sources.mjs', args: ['clean'] });
    const { code, stdout, stderr } = await startCli(
      ['doctor', '--determinism', run.runId, '--', process.execPath, 'sources.mjs'],
      { cwd: run.directory, env: run.env },
    ).ended;
    expect(code).toBe(10);
    expect(stdout).toBe('');
    expect(stderr).toContain('not replayed');
  });
});

describe('a replay with another clock, other random values and ids', () => {
  it('finds the requests of an agent that says them again and again', async () => {
    const run = await recordProgram({ file: 'unpinned.mjs' });
    const again = await run.replay({ options: ['--unpinned'] });
    expect(again.receipt).toMatchObject({ verdict: 'replayed', missing: 0, extra: 0, served: run.requests });
    const { exact = 0, canonical = 0, unified = 0, rule } = again.receipt?.rungs ?? {};
    expect(exact + canonical + unified).toBe(run.requests);
    expect(unified).toBeGreaterThan(0);
    expect(rule).toBe(0);
    // It printed its own session and times, not the recorded ones.
    expect(again.stdout).not.toBe(run.recorded.stdout);
    expect(again.code).toBe(0);
  });
});

describe('a replay in time', () => {
  it('gives each answer after as much time as when it was recorded, or a part of it, and all is as before', async () => {
    const run = await recordProgram({ file: 'chat.mjs', script: 'slow=1' });
    const { start, exchanges } = readRun(findRun(join(run.directory, '.orangebox'), run.runId).threads[0]?.files ?? []);
    const lastMs = Math.max(
      ...exchanges.map((one) => (Number(one.start.startUnixNano) + Number(one.end?.offsetNano ?? 0)) / 1e6),
    );
    const tookMs = lastMs - Number(start.startUnixNano) / 1e6;
    for (const [timing, speed] of [
      ['recorded', 1],
      ['x4', 4],
    ] as const) {
      const beganMs = performance.now();
      const again = await run.replay({ options: ['--timing', timing] });
      expect(performance.now() - beganMs).toBeGreaterThan(tookMs / speed);
      expect(again.receipt?.verdict, again.stderr).toBe('replayed');
      expect(again.stdout).toBe(run.recorded.stdout);
    }
    const refused = await run.replay({ options: ['--timing', 'soon'] });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('--timing takes virtual, recorded or a speed, not "soon"');
  });
});
