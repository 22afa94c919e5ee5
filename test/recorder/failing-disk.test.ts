/** Disks that cannot be written to: the program is as before, nothing is promised, and it is said once. */
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '@orangebox/store';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Finished, finished } from '../helpers/finished.ts';
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../helpers/otlp-receiver.mjs';
import { inRepository } from '../helpers/repository.ts';
import { registerFile } from '../preload/harness.ts';

const base = mkdtempSync(join(tmpdir(), 'orangebox-disk-'));
const mounted: string[] = [];
let receiver: OtlpReceiver;
let bare: Ran;

interface Ran extends Finished {
  spans: ReceivedSpan[];
}

async function run(preload: boolean, dir: string): Promise<Ran> {
  const already = receiver.metadataSpans().length;
  const args = [...(preload ? ['--require', registerFile] : []), inRepository('test/recorder/failing-disk.mjs')];
  const env = {
    PATH: process.env['PATH'],
    ORANGEBOX_DIR: dir,
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    ORANGEBOX_EXIT_FLUSH_MS: '10000',
  };
  const child = spawn(process.execPath, args, { cwd: base, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = await finished(child);
  return { ...ended, spans: receiver.metadataSpans().slice(already) };
}

/** A file system of its own, mounted at a new directory; undefined where that is not allowed. */
function mount(name: string, options: string): string | undefined {
  const at = join(base, name);
  mkdirSync(at);
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', at]).status !== 0) return undefined;
  mounted.push(at);
  return at;
}

const canMount = process.platform === 'linux' && spawnSync('sh', ['-c', 'unshare -m true']).status === 0;

beforeAll(async () => {
  receiver = await startOtlpReceiver();
  bare = await run(false, base);
});

afterAll(async () => {
  await receiver.close();
  for (const at of mounted) spawnSync('umount', ['-l', at]);
  rmSync(base, { recursive: true, force: true });
});

function expectUnkept(ran: Ran): void {
  expect({ code: ran.code, stdout: ran.stdout }).toEqual({ code: bare.code, stdout: bare.stdout });
  expect(ran.stderr.trim().split('\n')).toEqual([expect.stringMatching(/^orangebox: /)]);
  expect(ran.spans).toHaveLength(12);
  for (const { attributes } of ran.spans) {
    expect(attributes['orangebox.snapshot.key'] ?? '').toBe('');
    expect(attributes['orangebox.snapshot.fidelity']).toBe('partial');
    expect(attributes['orangebox.snapshot.fidelity.reason']).toBe('no_storage');
  }
}

describe('a program whose recordings cannot be kept runs as without Orangebox', () => {
  test('where the directory is a file', async () => {
    const file = join(base, 'a-file');
    writeFileSync(file, 'mine');
    expectUnkept(await run(true, file));
  });

  test.skipIf(process.getuid?.() !== 0)('where the directory belongs to somebody else', async () => {
    const theirs = join(base, 'theirs');
    mkdirSync(theirs);
    spawnSync('chown', ['65534', theirs]);
    chmodSync(theirs, 0o755);
    expectUnkept(await run(true, theirs));
  });

  test('where no directory can be made', async () => {
    expectUnkept(await run(true, process.platform === 'linux' ? '/proc/orangebox' : join(base, 'a-file', 'below')));
  });

  test.skipIf(!canMount)('on a read-only file system', async () => {
    const at = mount('read-only', 'ro,size=1m');
    expect(at).toBeDefined();
    expectUnkept(await run(true, at ?? ''));
  });

  test.skipIf(!canMount)('on a disk that fills up, where what was promised before can be read', async () => {
    const at = mount('full', 'size=200k') ?? '';
    const ran = await run(true, join(at, 'box'));
    expect({ code: ran.code, stdout: ran.stdout }).toEqual({ code: bare.code, stdout: bare.stdout });
    expect(ran.stderr.trim().split('\n')).toEqual([expect.stringMatching(/^orangebox: /)]);
    const promised = ran.spans.flatMap((span) => span.attributes['orangebox.snapshot.key'] || []) as string[];
    expect(promised.length).toBeGreaterThan(0);
    expect(promised.length).toBeLessThan(12);
    const store = await openStore(join(at, 'box'));
    for (const key of promised) expect(await store.get(key)).toMatchObject({ fidelity: { level: 'exact' } });
    await store.close();
    const unkept = ran.spans.filter((span) => (span.attributes['orangebox.snapshot.key'] ?? '') === '');
    for (const { attributes } of unkept) expect(attributes['orangebox.snapshot.fidelity.reason']).toBe('no_storage');
    expect(promised.length + unkept.length).toBe(12);
  });
});
