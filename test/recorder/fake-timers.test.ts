import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '@orangebox/store';
import { afterEach, expect, it } from 'vitest';
import { inRepository } from '../helpers/repository.ts';
import { registerFile } from '../preload/harness.ts';

const dir = mkdtempSync(join(tmpdir(), 'orangebox-timers-'));
afterEach(() => rmSync(dir, { recursive: true, force: true }));

it('records a program that runs under a clock and timers of its own, and leaves its signals alone', async () => {
  const program = inRepository('test/recorder/fake-timers.mjs');
  const ran = spawnSync(process.execPath, ['--require', registerFile, program], {
    env: { ...process.env, ORANGEBOX_DIR: dir },
    encoding: 'utf8',
    timeout: 20_000,
  });
  expect([ran.status, ran.stdout, ran.stderr]).toEqual([0, 'ended\n', '']);
  const store = await openStore(dir);
  const entries = [];
  for await (const entry of store.list({})) entries.push(entry.fidelity?.level);
  await store.close();
  expect(entries).toEqual(['exact', 'exact', 'exact']);
});
