import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { hasOtherSeries } from './other-series.ts';

const directories: string[] = [];
afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});

function directoryWith(...files: string[]): string {
  const dir = mkdtempSync(join(tmpdir(), 'orangebox-others-'));
  directories.push(dir);
  mkdirSync(join(dir, 'segments/2026-01-02'), { recursive: true });
  for (const file of files) writeFileSync(join(dir, 'segments/2026-01-02', file), '');
  return dir;
}

it('tells the files of other series from those of its own and from files of another kind', async () => {
  const own = 'host-12-0-1767312000000';
  expect(await hasOtherSeries(directoryWith(), own)).toBe(false);
  expect(await hasOtherSeries(join(tmpdir(), 'orangebox-no-such-directory'), own)).toBe(false);
  expect(await hasOtherSeries(directoryWith(`${own}-0.obxs`, `${own}-1.obxs`, 'notes.txt'), own)).toBe(false);
  expect(await hasOtherSeries(directoryWith(`${own}-0.obxs`, 'host-12-1-1767312000000-0.obxs'), own)).toBe(true);
  expect(await hasOtherSeries(directoryWith('host-1-0-1767312000000-0.obxs'), own)).toBe(true);
  expect(await hasOtherSeries(directoryWith(`${own}-0.obxs`), undefined)).toBe(true);
});
