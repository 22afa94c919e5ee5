/** Child processes are served, never started; what cannot be replayed is named when it is recorded. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cleanUp, recordProgram, type RecordedProgram } from './harness.ts';

let directory: string;
let log: string;
let run: RecordedProgram;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'obx-run-log-'));
  log = join(directory, 'log');
  run = await recordProgram({ file: 'acts.mjs', args: [log] });
});

afterAll(() => {
  cleanUp();
  rmSync(directory, { recursive: true, force: true });
});

describe('an agent that runs commands', () => {
  it('gets what they gave, and none is started', async () => {
    expect(run.recorded.code).toBe(0);
    const before = readFileSync(log, 'utf8');
    expect(before.match(/ran/g)).toHaveLength(10);
    const again = await run.replay();
    expect(again.stdout).toBe(run.recorded.stdout);
    expect(again.own).toBe(run.recorded.own);
    expect(again.code).toBe(0);
    expect(again.receipt).toMatchObject({ verdict: 'replayed', processes: { served: 14, started: 0 } });
    expect(readFileSync(log, 'utf8')).toBe(`${before}the program itself\n`);
  });

  it('has the connection that cannot be replayed named at once, and refused later', async () => {
    expect(run.said[0]).toContain('not replayable: 1 connection to 127.0.0.1:59998');
    const again = await run.replay();
    expect(again.receipt?.refused).toEqual([{ what: 'connection to 127.0.0.1:59998', count: 1 }]);
  });

  it('is stopped where it runs another command', async () => {
    const file = join(run.directory, 'acts.mjs');
    const source = readFileSync(file, 'utf8');
    try {
      writeFileSync(file, source.replace('cat; ${stamp}', 'cat -n; ${stamp}'));
      const again = await run.replay();
      expect(again.code).toBe(10);
      expect(again.receipt?.divergence).toMatchObject({ kind: 'environment' });
      expect(again.receipt?.divergence?.differences.map(({ path }) => path)).toEqual(['child.argv[1]']);
    } finally {
      writeFileSync(file, source);
    }
  });

  it('is stopped where a command is given another input', async () => {
    const file = join(run.directory, 'acts.mjs');
    const source = readFileSync(file, 'utf8');
    try {
      writeFileSync(file, source.replace("'fed'", "'starved'"));
      const again = await run.replay();
      expect(again.code).toBe(10);
      expect(again.receipt?.divergence?.differences.map(({ path }) => path)).toEqual(['child.stdin']);
    } finally {
      writeFileSync(file, source);
    }
  });
});
