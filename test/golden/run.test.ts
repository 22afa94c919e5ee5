/** A recorded run as it was first written, read for ever: all its records, and the order that a replay makes of them. */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { decodeSegment } from '@orangebox/codec';
import { findRuns, readRun } from '@orangebox/replay/process';
import { isRunRecord, segmentFileName } from '@orangebox/schema';
import { afterAll, expect, it } from 'vitest';

const file = readFileSync(new URL('./v1/run.obxs', import.meta.url));
const expected = JSON.parse(readFileSync(new URL('./v1/run.json', import.meta.url), 'utf8')) as unknown[];
const directory = mkdtempSync(join(tmpdir(), 'obx-golden-'));
afterAll(() => rmSync(directory, { recursive: true }));

it('has the bytes it always had', () => {
  expect(createHash('sha256').update(file).digest('hex')).toBe(
    'd635ec57ba0a64da7b1567f405190eaa9672defa57ac3955bd5bf90da151f0eb',
  );
});

it('is read whole, record for record, and has one of each type of a run', () => {
  const decoder = decodeSegment(file, { crc32 });
  const records = [...decoder].map(({ record }) => record);
  expect(decoder.end).toMatchObject({ version: 1, state: 'clean', damagedFrames: 0, unknownFrames: 0, closed: true });
  const plain = records.map((record) =>
    'bytes' in record ? { ...record, bytes: Buffer.from(record.bytes).toString('base64') } : record,
  );
  expect(plain).toEqual(expected);
  expect([...new Set(records.filter((record) => isRunRecord(record)).map(({ type }) => type))].sort()).toEqual([
    'child',
    'draws',
    'filesChanged',
    'input',
    'notReplayable',
    'runEnd',
    'runFiles',
    'runStart',
    'threadEvent',
    'timerFired',
    'toolRun',
    'workDone',
  ]);
});

it('is found as a run, and nothing of it is unsound', () => {
  const day = join(directory, 'segments', '2026-12-01');
  mkdirSync(day, { recursive: true });
  const path = join(day, segmentFileName({ host: 'box', pid: 1, threadId: 0, startUnixMs: 1, n: 0 }));
  writeFileSync(path, file);
  const [found] = findRuns(directory);
  expect(found?.start).toMatchObject({
    argv: ['agent.mjs', 'http://provider.example/v1'],
    cwd: '/srv/trip',
    stdin: 'pipe',
  });
  const run = readRun([path]);
  expect(run.isDamaged).toBe(false);
  expect(run.end).toMatchObject({ exitCode: 0 });
  expect({
    exchanges: run.exchanges.length,
    draws: run.draws.map(({ source }) => source),
    timers: run.timers.map(({ delayMs }) => delayMs),
    children: run.children.map(({ sync, events }) => [sync, events.at(-1)?.kind]),
    threadEvents: run.threadEvents.map(({ kind }) => kind),
    tools: run.toolRuns.map(({ name, outcome, notReplayable }) => [name, outcome, notReplayable?.[0]?.count]),
    work: run.work.map(({ kind }) => kind),
    input: run.input.length,
    files: run.files?.[0]?.files.map(({ path: name }) => name),
    changes: run.fileChanges.map(({ child, changes }) => [child === undefined, changes.map(({ kind }) => kind).join()]),
    notReplayable: run.notReplayable,
  }).toMatchInlineSnapshot(`
    {
      "changes": [
        [
          true,
          "created",
        ],
        [
          false,
          "changed,created",
        ],
      ],
      "children": [
        [
          true,
          "exit",
        ],
        [
          false,
          "close",
        ],
      ],
      "draws": [
        "Math.random",
        "crypto.randomUUID",
        "new Date",
      ],
      "exchanges": 1,
      "files": [
        "agent.mjs",
      ],
      "input": 1,
      "notReplayable": [
        {
          "count": 2,
          "type": "notReplayable",
          "what": "datagram",
        },
      ],
      "threadEvents": [
        "online",
        "message",
        "exit",
      ],
      "timers": [
        3,
      ],
      "tools": [
        [
          "query",
          "returned",
          1,
        ],
        [
          "fails",
          "threw",
          undefined,
        ],
      ],
      "work": [
        "fs.promises.readFile",
      ],
    }
  `);
});
