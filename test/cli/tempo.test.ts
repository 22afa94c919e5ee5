/** The way back from Tempo and Grafana, from a directory without recordings: by ids, sessions and pasted addresses. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBucketStore, createDirectoryBucket } from '@orangebox/store';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { FakeBackend } from './fake-jaeger.ts';
import { fakeTempo } from './fake-tempo.ts';
import { type AgentRun, writeAgentRun } from './recordings.ts';
import { type CliResult, cliBeside } from './spawn.ts';

let base: string;
let run: AgentRun;
let tempo: FakeBackend;
let env: { [name: string]: string };

beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), 'obx-cli-tempo-'));
  mkdirSync(join(base, 'away'));
  run = writeAgentRun(join(base, 'home/.orangebox'));
  const calls = [run.first, run.second, run.tool, run.streamed];
  const store = createBucketStore(createDirectoryBucket(join(base, 'bucket')));
  for (const call of calls) await store.put(call);
  await store.close();
  tempo = await fakeTempo(calls);
  env = {
    XDG_CONFIG_HOME: join(base, 'no-config'),
    ORANGEBOX_SOURCE: tempo.url,
    ORANGEBOX_STORE: `file://${join(base, 'bucket')}`,
  };
});

afterAll(async () => {
  await tempo.stop();
  rmSync(base, { recursive: true, force: true });
});

const ask = (...args: string[]): Promise<CliResult> => cliBeside(args, { cwd: join(base, 'away'), env });

it('show and replay take the address of a trace in Grafana Explore', async () => {
  const { traceId, spanId } = run.second.trace;
  const panes = { a: { datasource: 'tempo', queries: [{ refId: 'A', queryType: 'traceql', query: traceId }] } };
  const pasted = `https://grafana.example.com/explore?schemaVersion=1&orgId=1&panes=${encodeURIComponent(JSON.stringify(panes))}`;
  const shown = await ask('show', pasted);
  expect(shown).toMatchObject({ code: 0, stderr: '' });
  expect(shown.stdout).toContain('Take one to Oslo.');
  const replayed = await ask('replay', `${traceId}:${spanId}`, '--json', '--via', 'fetch');
  expect(replayed).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(replayed.stdout)).toMatchObject({ refusedSockets: 0 });
});

it('fetch takes a trace of Tempo by the address of its API', async () => {
  const { traceId } = run.streamed.trace;
  const fetched = await ask('fetch', `${tempo.url}/api/v2/traces/${traceId}`, '-o', '-');
  expect(fetched).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(fetched.stdout)).toMatchObject({ digest: run.streamed.digest });
});

it('ls lists what Tempo finds, of one session too', async () => {
  const all = await ask('ls', '--since', '2h', '--json');
  expect((JSON.parse(all.stdout) as unknown[]).length).toBe(4);
  const session = await ask('ls', '--session', run.sessionId, '--since', '2h', '--json');
  const ids = (JSON.parse(session.stdout) as { session: { id: string } }[]).map((entry) => entry.session.id);
  expect(ids.length).toBeGreaterThan(0);
  expect(new Set(ids)).toEqual(new Set([run.sessionId]));
});

it('a trace that Tempo answers empty is unknown', async () => {
  const unknown = await ask('show', 'f'.repeat(32));
  expect(unknown).toMatchObject({ code: 3, stdout: '' });
  expect(unknown.stderr).toContain('OBX_REF_UNKNOWN');
});
