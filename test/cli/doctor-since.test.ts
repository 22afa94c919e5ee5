/** `orangebox doctor --since` between the recordings of this machine and a directory of objects, and what it refuses. */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AuditReport, createDirectoryStore, openStore } from '@orangebox/store';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startProvider } from '../fixtures/provider/server.mjs';
import { finished } from '../helpers/finished.ts';
import { inRepository } from '../helpers/repository.ts';
import { cleanEnv, cli, type CliResult } from './spawn.ts';

let cwd: string;
const keys: string[] = [];

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'obx-cli-doctor-'));
  const provider = await startProvider();
  const preload = inRepository('packages/orangebox/dist/register.cjs');
  const program = inRepository('test/lanes/pipeline/fixtures/calls.mjs');
  const child = spawn(process.execPath, ['--require', preload, program, '5'], {
    cwd,
    env: cleanEnv({ OPENAI_BASE_URL: `${provider.url}/v1` }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  expect(await finished(child)).toMatchObject({ code: 0, stderr: '' });
  await provider.close();
  mkdirSync(join(cwd, 'objects'));
  const store = await openStore(join(cwd, '.orangebox'));
  const objects = createDirectoryStore(join(cwd, 'objects'));
  for await (const entry of store.list()) {
    if (entry.key === undefined) continue;
    keys.push(entry.key);
    await objects.put(await store.load(entry));
  }
  await store.close();
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

const since = (...args: string[]): CliResult =>
  cli(['doctor', '--since', '1d', '--grace', '0', '--source', 'local', '--store', 'objects', ...args], { cwd });

describe('orangebox doctor --since', () => {
  it('finds nothing where every promised object is there, and says what was compared', () => {
    const { code, stdout, stderr } = since();
    expect([code, stderr]).toEqual([0, '']);
    expect(keys.length).toBe(5);
    expect(stdout).toContain(`${keys.length} keys promised, ${keys.length} there and verified (100.0 %)`);
  });

  it('names what is lost and what is damaged, and ends with 1', () => {
    const [lost = '', damaged = ''] = keys;
    rmSync(join(cwd, 'objects', lost), { recursive: true });
    writeFileSync(join(cwd, 'objects', damaged, 'snapshot.json.gz'), '\x1b]0;owned\x07');
    const { code, stdout } = since();
    expect(code).toBe(1);
    expect(stdout).toContain(`lost  1 (`);
    expect(stdout).toMatch(new RegExp(`${lost}.*nothing stands under it`));
    expect(stdout).toMatch(new RegExp(`corrupt {2}1 [^]*${damaged}`));
    const report = JSON.parse(since('--json').stdout) as AuditReport & { finding: boolean };
    expect(report.finding).toBe(true);
    expect(report.findings.map(({ verdict, key }) => [verdict, key])).toEqual([
      ['lost', lost],
      ['corrupt', damaged],
    ]);
    expect((JSON.parse(since('--quick', '--json').stdout) as AuditReport).counts).toMatchObject({
      lost: 1,
      corrupt: 0,
    });
  });

  it('refuses what cannot be compared, with a hint', () => {
    const refused = (args: string[], hint: string): void => {
      const result = cli(['doctor', ...args], { cwd });
      expect(result).toMatchObject({ code: 2, stdout: '' });
      expect(result.stderr).toContain(hint);
    };
    refused(['--since', '1h'], 'ORANGEBOX_STORE');
    refused(['--since', '1h', '--store', 'objects'], 'ORANGEBOX_SOURCE');
    refused(['--since', 'sometime', '--source', 'local', '--store', 'objects'], 'is not a time');
    refused(['--since', '1h', '--until', '2h', '--source', 'local', '--store', 'objects'], '--until 1h');
    refused(['--quick'], '--quick goes with --since');
    refused(['--tail-sampled'], '--tail-sampled goes with --since');
    refused(['--keep'], '--keep goes with --canary');
    refused(['--since', '1h', '--canary'], 'two checks');
    refused(['--canary', '--store', 'objects'], 'ORANGEBOX_ENDPOINT');
  });
});
