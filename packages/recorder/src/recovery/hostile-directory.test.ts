/** Recovery of directories in which somebody left what brings programs down: it goes on, and says what it could not do. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createRedactor } from '@orangebox/codec';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { semconvNames } from '../otel/gen-ai-attributes.ts';
import { answer, openExchange, segmentPaths, testRecorder } from '../testing/scripted-exchange.ts';
import { claimPath, prepareClaims } from './claims.ts';
import { donePath, readDone } from './done-marks.ts';
import { type RecoveryHost } from './recover-series.ts';
import { recoverDirectory } from './recover-directory.ts';
import { findSeries } from './series-files.ts';
import { inSlices } from './slices.ts';

/** Process numbers that no Linux gives. */
const DEAD_PIDS = [4_194_305, 4_194_306];
let dir: string;
let names: string[];

/** Two series of processes that died with two calls open, one of which tried again. */
beforeEach(async () => {
  const box = testRecorder();
  const url = 'https://api.example.test/v1/responses';
  openExchange(box.recorder, { url });
  answer(openExchange(box.recorder, {}), { status: 429, responseHeaders: [['retry-after-ms', '70000.5']] });
  openExchange(box.recorder, {});
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  dir = mkdtempSync(join(tmpdir(), 'obx-hostile-'));
  const [path] = segmentPaths(box.dir);
  const date = join(dir, 'segments', '2026-03-01');
  mkdirSync(date, { recursive: true });
  names = DEAD_PIDS.map((pid) => basename(path ?? '').replace(/-\d+-0-(\d+)-0\.obxs$/, `-${pid}-0-$1`));
  for (const name of names) cpSync(path ?? '', join(date, `${name}-0.obxs`));
  box.dispose();
});

afterEach(() => rmSync(dir, { recursive: true, force: true }));

const host = (more: Partial<RecoveryHost> = {}): RecoveryHost => ({
  dir,
  kind: 'recover',
  pace: { sliceMs: 0, pause: () => Promise.resolve() },
  spanContent: { captureContent: false, names: semconvNames([]) },
  redactor: () => createRedactor({ secrets: [], patterns: [] }),
  retryQuarantined: false,
  ...more,
});

it('takes a pause that a server names in fractions', async () => {
  expect(await recoverDirectory(host())).toMatchObject({ series: 2, calls: 4 });
});

it('goes on with other series after a fault in one, and says it', async () => {
  const faults: string[] = [];
  let made = 0;
  const redactor: RecoveryHost['redactor'] = () => {
    if (made++ === 0) throw new RangeError('fault');
    return createRedactor({ secrets: [], patterns: [] });
  };
  const report = await recoverDirectory(
    host({ redactor, onFault: (series, error) => faults.push(`${series} ${error}`) }),
  );
  expect(report).toMatchObject({ series: 1, calls: 2 });
  expect(faults).toEqual([`${names[0]} RangeError: fault`]);
  made = 0;
  await expect(recoverDirectory(host({ redactor }))).rejects.toThrow('fault');
});

it('ends between two calls when it is told to, and another one goes on', async () => {
  const stop = new AbortController();
  const redactor: RecoveryHost['redactor'] = () => {
    stop.abort();
    return createRedactor({ secrets: [], patterns: [] });
  };
  expect(await recoverDirectory(host({ redactor, signal: stop.signal }))).toMatchObject({ calls: 1 });
  expect(await recoverDirectory(host())).toMatchObject({ calls: 3 });
});

it.skipIf(process.platform === 'win32')('waits for no pipe in the place of a mark', async () => {
  prepareClaims(dir);
  for (const name of names) execFileSync('mkfifo', [donePath(dir, name)]);
  const [series] = await inSlices(findSeries(dir), host().pace);
  expect(series && readDone(dir, series)).toBeUndefined();
  expect(await recoverDirectory(host())).toMatchObject({ series: 2, calls: 4 });
});

it('takes nothing from a forged claim that is no position', async () => {
  prepareClaims(dir);
  expect(await recoverDirectory(host())).toMatchObject({ calls: 4 });
  const [series] = await inSlices(findSeries(dir), host().pace);
  rmSync(donePath(dir, names[0] ?? ''));
  const keys: string[] = [];
  await recoverDirectory(
    host({
      payloads: {
        concurrency: 1,
        isStopped: false,
        stop: () => {},
        send: (item) => (keys.push(item.key), Promise.resolve({ kind: 'left' })),
      },
    }),
  );
  const quarantined = [
    { key: keys[0], reason: 'r', atUnixNano: '5', type: 'callEnd' },
    { key: keys[1], reason: 'r', atUnixNano: 5 },
    null,
  ];
  const claim = {
    token: 't',
    kind: 'ship',
    pid: DEAD_PIDS[0],
    host: series?.id.host,
    cursor: { n: 9, offset: 0, quarantined },
  };
  rmSync(donePath(dir, names[0] ?? ''));
  writeFileSync(claimPath(dir, names[0] ?? ''), JSON.stringify(claim));
  expect(await recoverDirectory(host())).toMatchObject({ quarantined: 1, already: 1 });
});

it('passes over claims and files of a time that has not come', async () => {
  prepareClaims(dir);
  const foreign = (names[0] ?? '').replace(/^[^-]+/, 'elsewhere');
  const date = join(dir, 'segments', '2026-03-01');
  cpSync(join(date, `${names[0]}-0.obxs`), join(date, `${foreign}-0.obxs`));
  const claim = claimPath(dir, foreign);
  writeFileSync(claim, JSON.stringify({ token: 't', kind: 'recover', pid: 1, host: 'elsewhere' }));
  const nextYear = Date.now() / 1000 + 31_536_000;
  for (const path of [claim, ...readdirSync(date).map((name) => join(date, name))])
    utimesSync(path, nextYear, nextYear);
  expect(await recoverDirectory(host())).toMatchObject({ series: 3, busy: 0 });
});
