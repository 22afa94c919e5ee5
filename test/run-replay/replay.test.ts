/** Unmodified programs are recorded against the local provider, and run again without it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { cleanUp, KEY, recordProgram } from './harness.ts';

afterAll(cleanUp);

const programs = [
  { name: 'a chat loop with openai', file: 'chat.mjs', code: 3 },
  { name: 'the responses API and runTools', file: 'responses.mjs', code: 0 },
  { name: 'the AI SDK', file: 'ai-sdk.mjs', packages: 'ai-sdk-otel', code: 0 },
  { name: 'openai 4 over node:http', file: 'openai-4.mjs', packages: 'openai-4', code: 0 },
  { name: 'a worker thread', file: 'worker.mjs', code: 0 },
  { name: 'an exit while an answer comes', file: 'ends.mjs', args: ['exit'], script: 'slow=1', code: 7 },
  { name: 'an exception while an answer comes', file: 'ends.mjs', args: ['throw'], script: 'slow=1', code: 1 },
  { name: 'a rejection while an answer comes', file: 'ends.mjs', args: ['reject'], script: 'slow=1', code: 1 },
  { name: 'requests that find nobody', file: 'unreached.mjs', code: 0 },
  { name: 'an end that is put off by listeners', file: 'goes-on.mjs', code: 0 },
  { name: 'races, timeouts and aborts', file: 'order.mjs', script: 'slow=1', code: 0 },
];

describe('a replay gives the same output, errors and exit code, with nobody there', () => {
  it.each(programs)('$name', async ({ code, name: _name, ...program }) => {
    const run = await recordProgram(program);
    expect(run.recorded).toMatchObject({ code, signal: null });
    expect(run.recorded.stdout).not.toBe('');
    expect(run.said.join('\n')).not.toContain('not replayable');
    for (let i = 0; i < 2; i++) {
      const again = await run.replay();
      expect(again.stdout).toBe(run.recorded.stdout);
      expect(again.own).toBe(run.recorded.own);
      expect(again.code).toBe(0);
      expect(again.receipt).toMatchObject({
        verdict: 'replayed',
        missing: 0,
        extra: 0,
        liveConnections: 0,
        refused: [],
      });
      expect(again.receipt?.outcome.map(({ recorded, live }) => recorded === live)).toEqual([true, true, true]);
    }
  });
});

describe('a replay of another program', () => {
  it('stops at the first request that is another, says what differs, and serves nothing for it', async () => {
    const run = await recordProgram({ file: 'chat.mjs' });
    const file = join(run.directory, 'chat.mjs');
    writeFileSync(file, readFileSync(file, 'utf8').replace('You plan trips.', 'You plan journeys.'));
    const again = await run.replay();
    expect(again.code).toBe(10);
    expect(again.receipt?.divergence).toMatchObject({ kind: 'changed_request', step: 1, cause: 'code' });
    expect(again.receipt?.divergence?.differences.map(({ path }) => path)).toEqual(['body.messages[0].content']);
    expect(again.receipt?.served).toBe(0);
    // What it wrote before stands; nothing after.
    expect(run.recorded.stdout.startsWith(again.stdout)).toBe(true);
  });

  it('tells a request that is never made, where it waits for it', async () => {
    const run = await recordProgram({ file: 'chat.mjs' });
    const file = join(run.directory, 'chat.mjs');
    writeFileSync(file, readFileSync(file, 'utf8').replace("['Anna', 'Ben', 'Cleo']", "['Anna', 'Cleo']"));
    const again = await run.replay();
    expect(again.code).toBe(10);
    expect(again.receipt?.served).toBe(run.requests - 2);
  });

  it('tells that the program ended early', async () => {
    const run = await recordProgram({ file: 'chat.mjs' });
    const file = join(run.directory, 'chat.mjs');
    writeFileSync(file, readFileSync(file, 'utf8').replace('turn < 6', 'turn < 2 || process.exit(9)'));
    const again = await run.replay();
    expect(again.code).toBe(10);
    expect(again.receipt?.divergence).toMatchObject({ kind: 'missing', step: 3 });
  });

  it('tells a program without the preload, and one that is another file', async () => {
    const run = await recordProgram({ file: 'chat.mjs' });
    const bare = await run.replay({ command: ['true'] });
    expect(bare.code).toBe(13);
    writeFileSync(join(run.directory, 'other.mjs'), 'console.log("other")');
    const other = await run.replay({ command: [process.execPath, 'other.mjs'] });
    expect(other.code).toBe(14);
  });
});

describe('a recording of a run', () => {
  it('holds no key, and no value of the environment beyond the list', async () => {
    const run = await recordProgram({ file: 'chat.mjs' });
    const { findRun } = await import('@orangebox/replay/process');
    const found = findRun(join(run.directory, '.orangebox'), run.runId);
    const bytes = Buffer.concat(found.threads.flatMap(({ files }) => files.map((file) => readFileSync(file))));
    expect(bytes.includes(KEY)).toBe(false);
    expect(Object.keys(found.start.environment.hashes)).toContain('OPENAI_API_KEY');
    expect(Object.keys(found.start.environment.values)).toEqual(['LANG']);
  });

  it('runs its own command only where it was recorded, and after a yes', async () => {
    const run = await recordProgram({ file: 'chat.mjs' });
    const asked = await run.replay({ command: [] });
    expect(asked.code).toBe(6);
    expect(asked.stderr).toContain('OBX_CONFIRM_REQUIRED');
  });
});
