/** Tools whose outcome cannot come about again: it is given from the recording, with nothing of what they did. */
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { cleanUp, recordProgram, type RecordedProgram } from './harness.ts';

/** A database: a line in, a line out. */
const database = createServer((socket) => {
  socket.on('error', () => undefined);
  socket.once('data', async (bytes) => {
    const query = String(bytes).trim();
    if (query.startsWith('slow')) await pause(query.endsWith('a') ? 40 : 25);
    socket.end(query === 'broken' ? 'ERROR 42601\n' : `row of ${query},second\n`);
  });
});
let run: RecordedProgram;
let pooled: RecordedProgram;

beforeAll(async () => {
  database.listen(0, '127.0.0.1');
  await once(database, 'listening');
  const port = String((database.address() as AddressInfo).port);
  run = await recordProgram({ file: 'tools.mjs', args: [port] });
  pooled = await recordProgram({ file: 'tools.mjs', args: [port, 'SELECT 1', 'pooled'] });
  database.close();
}, 60_000);
afterAll(cleanUp);

it('is recorded, and nothing of it is named as not replayable', () => {
  expect(run.recorded).toMatchObject({ code: 0, own: '' });
  expect(run.recorded.stdout.split('\n')).toHaveLength(8);
  // In the order in which the database was done with them, whatever that is on a busy machine.
  expect(run.recorded.stdout).toMatch(
    /^row of slow a,row of quick b,row of slow c (?:(?:slow a|quick b|slow c),?){3}$/m,
  );
  expect(run.said.join('\n')).not.toContain('not replayable');
});

it('gives the same again without the database, in the same order, and errors as they were', async () => {
  for (let i = 0; i < 3; i++) {
    const again = await run.replay();
    expect(again.stdout).toBe(run.recorded.stdout);
    expect(again.own).toBe('');
    expect(again.code).toBe(0);
    expect(again.receipt).toMatchObject({
      verdict: 'replayed',
      // Those of the tool that is given are not made.
      served: run.requests - 1,
      recordedRequests: run.requests - 1,
      missing: 0,
      refused: [],
      liveConnections: 0,
      tools: { served: 6, changed: [] },
    });
  }
});

/** Replays the program with a change, and puts it back. */
async function changed(from: string, to: string): ReturnType<RecordedProgram['replay']> {
  const file = join(run.directory, 'tools.mjs');
  const before = readFileSync(file, 'utf8');
  expect(before).toContain(from);
  writeFileSync(file, before.replace(from, to));
  try {
    return await run.replay();
  } finally {
    writeFileSync(file, before);
  }
}

it('stops where such a tool is called with other arguments', async () => {
  const again = await changed("query('broken')", "query('mended')");
  expect(again.code).toBe(10);
  expect(again.receipt?.divergence).toMatchObject({ kind: 'changed_request' });
  expect(again.stderr).toContain('the tool query');
  expect(again.stderr).toContain('mended');
  expect(again.stdout).not.toContain('42601');
});

it('stops where such a tool is not called any more', async () => {
  const again = await changed("await report('weekly')", "'nothing'");
  expect(again.code).toBe(10);
  expect(again.receipt?.divergence?.kind).toBe('missing');
  expect(again.stderr).toContain('the tool report');
});

it('stops where such a tool is called once more', async () => {
  const again = await changed(
    "await query('broken');",
    "await query('broken').catch(() => {});\n  for (let i = 0; i < 9; i++) await query('more');",
  );
  expect(again.code).toBe(10);
  expect(again.receipt?.divergence?.kind).toMatch(/^(?:extra|changed_request)$/);
  expect(again.stderr).toContain('the tool query');
});

it('names a connection that was there before its tools, which a replay cannot make', async () => {
  expect(pooled.recorded.code).toBe(0);
  expect(pooled.said.join('\n')).toMatch(/not replayable: 1 connection to 127\.0\.0\.1:/);
  expect((await pooled.replay()).code).not.toBe(0);
});

it('says that a tool which runs again had another outcome', async () => {
  const again = await changed('Math.ceil(Math.random() * sides)', 'Math.ceil(Math.random() * sides) + 1');
  expect(again.receipt).toMatchObject({ verdict: 'output_differs', tools: { changed: ['roll'] } });
  expect(again.stderr).toContain('the tool roll ran again');
});
