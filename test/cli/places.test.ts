/** The way back: from a trace backend, a bucket, or a pasted address to a call, from any directory. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Snapshot, snapshotKey } from '@orangebox/schema';
import { createBucketStore, createDirectoryBucket } from '@orangebox/store';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type FakeBackend, fakeJaeger } from './fake-jaeger.ts';
import { type AgentRun, Recording, writeAgentRun } from './recordings.ts';
import { type CliResult, cliBeside, startCli } from './spawn.ts';

let base: string;
/** Where the recordings were made. */
let home: string;
/** Another directory, without any recordings. */
let away: string;
/** The bucket, as the archiver leaves it. */
let bucketUrl: string;
let run: AgentRun;
let jaeger: FakeBackend;

beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), 'obx-cli-places-'));
  [home, away] = [join(base, 'home'), join(base, 'away')];
  mkdirSync(away, { recursive: true });
  run = writeAgentRun(join(home, '.orangebox'));
  bucketUrl = `file://${join(base, 'bucket')}`;
  const store = createBucketStore(createDirectoryBucket(join(base, 'bucket')));
  for (const call of [run.first, run.second, run.tool, run.streamed]) await store.put(call);
  await store.close();
});

afterAll(() => rmSync(base, { recursive: true, force: true }));

beforeEach(async () => {
  // The failed call has a span, but its payload is in no store.
  jaeger = await fakeJaeger([run.first, run.second, run.tool, run.streamed, run.failed]);
});

afterEach(() => jaeger.stop());

const ask = (args: string[], env: { [name: string]: string } = {}, cwd: string = away): Promise<CliResult> =>
  cliBeside(args, { cwd, env: { XDG_CONFIG_HOME: join(base, 'no-config'), ...env } });

/** Somewhere nothing listens. */
const NOWHERE = 'http://127.0.0.1:9';

describe('from another directory, with nothing but a bucket named', () => {
  it('show and replay take a pasted Jaeger URL', async () => {
    const url = `${jaeger.url}/trace/${run.second.trace.traceId}?uiFind=${run.second.trace.spanId}`;
    const env = { ORANGEBOX_STORE: bucketUrl };
    const shown = await ask(['show', url], env);
    expect(shown).toMatchObject({ code: 0, stderr: '' });
    expect(shown.stdout).toContain('Take one to Oslo.');
    expect(shown.stdout).toContain('… 3 messages as in');
    const replayed = await ask(['replay', url, '--json', '--via', 'fetch'], env);
    expect(replayed).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(replayed.stdout)).toMatchObject({ refusedSockets: 0 });
    expect(jaeger.headers.every((headers) => headers.authorization === undefined)).toBe(true);
  });

  it('a URL of a trace shows its calls, and --serve serves them', async () => {
    const url = `${jaeger.url}/trace/${run.first.trace.traceId}`;
    const shown = await ask(['show', url], { ORANGEBOX_STORE: bucketUrl });
    expect(shown.code).toBe(0);
    expect(shown.stdout).toContain('umbrella');
    const serving = startCli(['replay', url, '--serve', '--json'], { cwd: away, env: { ORANGEBOX_STORE: bucketUrl } });
    await serving.said('"port"');
    serving.child.kill('SIGINT');
    expect(await serving.ended).toMatchObject({ code: 0 });
  });

  it('a short ref, a session and last need --since, and say so', async () => {
    const env = { ORANGEBOX_STORE: bucketUrl };
    for (const reference of [run.first.id.slice(0, 8), run.sessionId, 'last']) {
      const refused = await ask(['show', reference], env);
      expect(refused).toMatchObject({ code: 2, stdout: '' });
      expect(refused.stderr).toContain('OBX_STORE_SINCE_REQUIRED');
      expect(refused.stderr).toContain('--since 2h');
      expect((await ask(['show', reference, '--since', '2h'], env)).code).toBe(0);
    }
    const key = snapshotKey(run.first);
    const fetched = await ask(['fetch', key, '-o', '-'], env);
    expect(JSON.parse(fetched.stdout)).toMatchObject({ id: run.first.id });
  });

  it('ls lists by the index', async () => {
    const { stdout } = await ask(['ls', '--store', bucketUrl, '--since', '2h', '--json']);
    expect((JSON.parse(stdout) as unknown[]).length).toBe(4);
  });
});

describe('with a source', () => {
  it('ls and tail leave canaries of doctor out unless their ids are asked for', async () => {
    const session = { id: 'orangebox-canary', seq: 0, basis: 'declared' as const };
    const canary = new Recording(join(base, 'canary')).call({ session, traceId: 'c'.repeat(32) });
    jaeger.calls.unshift(canary);
    const from = ['--source', jaeger.url];
    expect((await ask(['ls', ...from, '-n', '0'])).stdout.trimEnd().split('\n')).toHaveLength(5);
    for (const asked of [
      ['--session', session.id],
      ['--trace', canary.trace.traceId],
    ])
      expect((await ask(['ls', ...from, ...asked])).stdout.trimEnd().split('\n')).toEqual([
        expect.stringContaining('orangebox-canary'),
      ]);
    for (const [words, isShown] of [
      [[], false],
      [['--session', session.id], true],
    ] as const) {
      const tail = startCli(['tail', ...from, ...words], { cwd: away });
      await tail.said('\n');
      tail.child.kill('SIGINT');
      const { stdout } = await tail.ended;
      expect(stdout.includes(session.id)).toBe(isShown);
    }
  });

  it('ls shows what the backend knows, promised', async () => {
    const listed = await ask(['ls', '--source', jaeger.url]);
    expect(listed).toMatchObject({ code: 0, stderr: '' });
    const lines = listed.stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(5);
    expect(new Set(lines.map((line) => line.split('\t').at(-1)))).toEqual(new Set(['promised']));
  });

  it('what nobody knows is unknown, and the bucket that was not searched is named', async () => {
    const env = { ORANGEBOX_SOURCE: jaeger.url, ORANGEBOX_STORE: bucketUrl };
    for (const [reference, more] of [
      ['abcdef12', env],
      ['f'.repeat(32), env],
      ['f'.repeat(32), { ORANGEBOX_STORE: bucketUrl }],
    ] as const) {
      const unknown = await ask(['show', reference], more);
      expect(unknown).toMatchObject({ code: 3, stdout: '' });
      expect(unknown.stderr).toContain(`nothing recorded is called "${reference}"`);
      expect(unknown.stderr).toContain('--since 2h');
    }
  });

  it('a backend that does not answer is named beside the time that a bucket needs', async () => {
    const env = { ORANGEBOX_SOURCE: 'http://127.0.0.1:9', ORANGEBOX_STORE: bucketUrl };
    const refused = await ask(['show', 'abcdef12'], env);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/^not searched: http:\/\/127\.0\.0\.1:9 cannot be reached/);
    expect(refused.stderr).toContain('OBX_STORE_SINCE_REQUIRED');
    const listed = await ask(['ls'], env);
    expect(listed.code).toBe(0);
    expect(listed.stderr).toMatch(/^not searched: http:\/\/127\.0\.0\.1:9 cannot be reached/);
    expect(listed.stdout.trimEnd().split('\n')).toHaveLength(4);
  });

  it('ls without a time asks the bucket about the hour that it asks the backend about', async () => {
    const listed = await ask(['ls'], { ORANGEBOX_SOURCE: jaeger.url, ORANGEBOX_STORE: bucketUrl });
    expect(listed).toMatchObject({ code: 0, stderr: '' });
    const kept = listed.stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t').at(-1));
    expect(kept.filter((word) => word === 'promised')).toHaveLength(1);
    expect(kept).toHaveLength(5);
  });

  it('a short ref leads to the payload in the bucket', async () => {
    const env = { ORANGEBOX_SOURCE: jaeger.url, ORANGEBOX_STORE: bucketUrl };
    const shown = await ask(['show', run.second.id.slice(0, 8)], env);
    expect(shown).toMatchObject({ code: 0, stderr: '' });
    expect(shown.stdout).toContain('Take one to Oslo.');
  });

  it('a lost payload is said to be lost, with what the span says', async () => {
    const old: Snapshot = structuredClone(run.failed);
    const startMs = Date.now() - 1_800_000;
    old.time = { startUnixNano: `${startMs}000000`, endUnixNano: `${startMs + 900}000000` };
    jaeger.calls.splice(0, 99, old);
    const env = { ORANGEBOX_SOURCE: jaeger.url, ORANGEBOX_STORE: bucketUrl };
    const shown = await ask(['show', old.id.slice(0, 8)], env);
    expect(shown.code).toBe(3);
    expect(shown.stdout).toContain('gpt-4o');
    expect(shown.stderr).toContain('OBX_SNAPSHOT_LOST');
    const fetched = await ask(['fetch', old.id.slice(0, 8), '-o', '-'], env);
    expect(fetched).toMatchObject({ code: 3, stdout: '' });
    expect(fetched.stderr).toContain('gpt-4o');
  });

  it('--wait waits for a payload that comes', async () => {
    const late = await ask(['fetch', run.failed.id.slice(0, 8), '-o', '-'], {
      ORANGEBOX_SOURCE: jaeger.url,
      ORANGEBOX_STORE: `file://${join(base, 'late')}`,
    });
    expect(late.code).toBe(3);
    expect(late.stderr).toContain('OBX_SNAPSHOT_NOT_ARRIVED');
    const waiting = startCli(['fetch', run.failed.id.slice(0, 8), '-o', '-', '--wait', '30s'], {
      cwd: away,
      env: { ORANGEBOX_SOURCE: jaeger.url, ORANGEBOX_STORE: `file://${join(base, 'late')}` },
    });
    // It has asked for the span, and found nothing in the bucket.
    const before = jaeger.asked.length;
    await expect.poll(() => jaeger.asked.length, { timeout: 10_000 }).toBeGreaterThan(before + 2);
    const store = createBucketStore(createDirectoryBucket(join(base, 'late')));
    await store.put(run.failed);
    await store.close();
    const result = await waiting.ended;
    expect(result).toMatchObject({ code: 0 });
    expect(JSON.parse(result.stdout)).toMatchObject({ id: run.failed.id });
  });

  it('--wait ends when its time is over', async () => {
    const env = { ORANGEBOX_SOURCE: jaeger.url, ORANGEBOX_STORE: bucketUrl };
    const shown = await ask(['show', run.failed.id.slice(0, 8), '--wait', '0.3s'], env);
    expect(shown.code).toBe(3);
    expect(shown.stderr).toContain('OBX_SNAPSHOT_NOT_ARRIVED');
  });

  it('headers go to the configured source, and never to the origin of a pasted URL', async () => {
    const other = await fakeJaeger([run.streamed]);
    try {
      const env = { ORANGEBOX_SOURCE: jaeger.url, ORANGEBOX_SOURCE_HEADERS: 'authorization=Bearer%20s3cret' };
      await ask(['ls'], env);
      expect(jaeger.headers.length).toBeGreaterThan(0);
      expect(new Set(jaeger.headers.map((headers) => headers.authorization))).toEqual(new Set(['Bearer s3cret']));
      await ask(['show', `${other.url}/trace/${run.streamed.trace.traceId}`], env);
      await ask(['ls', '--source', other.url], env);
      expect(other.headers.every((headers) => headers.authorization === undefined)).toBe(true);
      const alone = await ask(['show', `${other.url}/trace/${run.streamed.trace.traceId}`], {
        ORANGEBOX_SOURCE_HEADERS: 'authorization=Bearer%20s3cret',
        ORANGEBOX_STORE: `file://${join(base, 'empty')}`,
      });
      expect(other.asked.length).toBeGreaterThan(0);
      expect(other.headers.every((headers) => headers.authorization === undefined)).toBe(true);
      expect(alone.code).toBe(3);
    } finally {
      await other.stop();
    }
  });
});

describe('a source that does not answer', () => {
  it('leaves the local recordings usable, with one line about it', async () => {
    const env = { ORANGEBOX_SOURCE: `jaeger+${NOWHERE}` };
    for (const args of [
      ['ls'],
      ['show', run.second.id.slice(0, 8)],
      ['show', run.sessionId],
      ['show', 'last'],
      ['diff', run.first.id, run.second.id],
    ]) {
      const result = await ask(args, env, home);
      expect([0, 1], args.join(' ')).toContain(result.code);
      expect(result.stdout).not.toBe('');
      const lines = result.stderr
        .trimEnd()
        .split('\n')
        .filter((line) => line !== '');
      expect(lines.length, result.stderr).toBeLessThanOrEqual(1);
    }
  });

  it('is the answer where nothing else has one', async () => {
    const result = await ask(['ls', '--source', NOWHERE], {}, home);
    expect(result).toMatchObject({ code: 7, stdout: '' });
    expect(result.stderr).toContain('OBX_SOURCE_UNREACHABLE');
    expect((await ask(['show', 'abcdef12'], { ORANGEBOX_SOURCE: NOWHERE }, home)).code).toBe(7);
  });
});

describe('contexts', () => {
  const config = (text: string, mode = 0o600): string => {
    const file = join(mkdtempSync(join(base, 'config-')), 'config.json');
    writeFileSync(file, text, { mode });
    return file;
  };

  it('name source and store; the flag goes before the environment', async () => {
    const file = config(
      JSON.stringify({
        contexts: {
          prod: { source: jaeger.url, store: bucketUrl, headers: { 'X-Scope-OrgID': 'team-7' } },
          dead: { source: NOWHERE },
        },
        defaultContext: 'dead',
      }),
    );
    const env = { ORANGEBOX_CONFIG: file };
    expect((await ask(['ls', '--context', 'prod', '--json'], env)).code).toBe(0);
    expect(jaeger.headers.every((headers) => headers['x-scope-orgid'] === 'team-7')).toBe(true);
    const shown = await ask(['show', run.second.id.slice(0, 8), '--context', 'prod'], {
      ...env,
      ORANGEBOX_SOURCE: NOWHERE,
    });
    expect(shown.code).toBe(0);
    expect((await ask(['ls'], env)).code).toBe(7);
    expect((await ask(['ls'], { ...env, ORANGEBOX_CONTEXT: 'prod' })).code).toBe(0);
    const listed = await ask(['context'], { ...env, ORANGEBOX_CONTEXT: 'prod' });
    expect(listed.stdout).toMatch(/\* +prod +http:/);
    expect(listed.stdout).toContain('context prod');
    expect(listed.stdout + (await ask(['context', '--json'], env)).stdout).not.toContain('team-7');
  });

  it('that are not there or not understood are said with what was probably meant', async () => {
    const good = config('{"contexts": {"prod": {"source": "http://127.0.0.1:9"}}}');
    expect((await ask(['ls', '--context', 'prodd'], { ORANGEBOX_CONFIG: good })).stderr).toContain(
      'did you mean prod?',
    );
    const bad = config('{"contexts": {"prod": {"sourc": "x"}}}');
    const result = await ask(['ls'], { ORANGEBOX_CONFIG: bad });
    expect(result.code).toBe(2);
    expect(result.stderr).toContain('contexts.prod has an unknown field "sourc"');
    expect(result.stderr).toContain('did you mean source?');
    expect((await ask(['ls'], { ORANGEBOX_CONFIG: join(base, 'nothing.json') })).code).toBe(3);
  });

  it('a file with headers that others may read is warned about', async () => {
    const file = config(`{"contexts": {"prod": {"source": "${jaeger.url}", "headers": {"X-Key": "k"}}}}`, 0o644);
    const result = await ask(['ls', '--context', 'prod'], { ORANGEBOX_CONFIG: file });
    expect(result.code).toBe(0);
    expect(result.stderr).toContain('chmod 600');
    expect(result.stderr).not.toContain('"k"');
  });
});

describe('orangebox alone', () => {
  it('takes the options that name places, and says nothing of this directory then', async () => {
    const file = join(base, 'alone.json');
    const contexts = { prod: { source: NOWHERE, store: 's3://recordings/prod' } };
    writeFileSync(file, JSON.stringify({ contexts }), { mode: 0o600 });
    const env = { ORANGEBOX_CONFIG: file };
    for (const cwd of [home, away]) {
      const { code, stdout, stderr } = await ask(['--context', 'prod'], env, cwd);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toContain('s3://recordings/prod (context prod)');
      expect(stdout).toContain('orangebox ls --since 1h --context prod');
      expect(stdout).not.toMatch(/1 session|start your program|also read/);
    }
    const json = await ask(['--source', NOWHERE, '--json'], {}, home);
    expect(JSON.parse(json.stdout)).toEqual({ source: NOWHERE });
    const counted = await ask(['--store', join(base, 'bucket')], {}, home);
    expect(counted.stdout).toMatch(/orangebox +.*bucket +[^]*3 calls/);
    expect(counted.stdout).toMatch(/ in \d+ files/);
  });

  it('and its places typed before a command hold for it; one that reads from none refuses them', async () => {
    const ls = await ask(['--source', jaeger.url, 'ls']);
    expect(ls).toMatchObject({ code: 0, stderr: '' });
    expect(ls.stdout).toContain('promised');
    for (const words of [
      ['--store', bucketUrl, 'purge', '--before', '1d', '-y'],
      ['--store', bucketUrl, 'archive'],
    ]) {
      const refused = await ask(words, {}, home);
      expect(refused).toMatchObject({ code: 2, stdout: '' });
      expect(refused.stderr).toContain(`--store stands before ${words[2] ?? ''}`);
    }
  });

  it('says which places are read, without what is secret in their addresses', async () => {
    const env = { ORANGEBOX_SOURCE: 'http://me:hush@127.0.0.1:9', ORANGEBOX_STORE: 's3://recordings/prod' };
    for (const cwd of [home, away]) {
      const { stdout, code } = await ask([], env, cwd);
      expect(code).toBe(0);
      expect(stdout).toContain('http://127.0.0.1:9 (ORANGEBOX_SOURCE)');
      expect(stdout).toContain('s3://recordings/prod (ORANGEBOX_STORE)');
      expect(stdout).not.toContain('hush');
    }
  });
});
