/** The way back, against the real servers: from a pasted address, a short ref or a session to the call, from any directory. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type CliResult, cliBeside, startCli } from '../../cli/spawn.ts';
import { type AgentRun, runAgent } from './agent-run.ts';
import { tracesOf } from './jaeger-answers.ts';
import { type ConfigName, type Pipeline, pipeline } from './pipeline.ts';
import { bucketOf, readKey } from './stored-objects.ts';

const configs: ConfigName[] = ['collector', 'one-port', 'queue', 'inline', 'file'];

describe.each(configs)('the way back through %s.yaml', (config) => {
  let servers: Pipeline;
  let run: AgentRun;
  let away: string;
  /** The store and how to reach it, and no source. */
  let storeEnv: { [name: string]: string };

  beforeAll(async () => {
    away = mkdtempSync(join(tmpdir(), 'obx-way-back-'));
    servers = await pipeline(config);
    run = await runAgent(servers.programEnv);
    await tracesOf(servers.jaeger, run.calls);
    const bucket = bucketOf(servers);
    for (const { entry } of run.calls)
      await vi.waitFor(async () => expect(await readKey(bucket, entry.key as string)).toBeDefined(), {
        timeout: 20_000,
      });
    await bucket.close();
    const { ORANGEBOX_SOURCE: _source, ...rest } = servers.cliEnv;
    storeEnv = { ...rest, XDG_CONFIG_HOME: away };
  });

  afterAll(async () => {
    run?.remove();
    rmSync(away, { recursive: true, force: true });
    await servers?.stop();
  });

  const ask = (args: string[], env: { [name: string]: string } = storeEnv): Promise<CliResult> =>
    cliBeside(args, { cwd: away, env });
  const llmCalls = (): AgentRun['calls'] => run.calls.filter(({ snapshot }) => snapshot.kind === 'llm');

  it('show takes a pasted Jaeger URL with nothing but the store named', async () => {
    // Every call by the default configuration; by the others a call and a tool execution.
    const kinds = (['llm', 'tool'] as const).flatMap(
      (kind) => run.calls.find(({ snapshot }) => snapshot.kind === kind) ?? [],
    );
    for (const { snapshot } of config === 'collector' ? run.calls : kinds) {
      const { traceId, spanId } = snapshot.trace;
      const url = `${servers.jaeger.url}/trace/${traceId}?uiFind=${spanId}`;
      const shown = await ask(['show', url, '--json']);
      expect(shown, shown.stderr).toMatchObject({ code: 0, stderr: '' });
      expect(JSON.parse(shown.stdout)).toMatchObject({ id: snapshot.id, digest: snapshot.digest });
    }
  });

  it('replay gives the recorded answer of it, offline', async () => {
    const [call] = llmCalls();
    const url = `${servers.jaeger.url}/trace/${call?.snapshot.trace.traceId}?uiFind=${call?.snapshot.id}`;
    const replayed = await ask(['replay', url, '--via', 'fetch', '--json']);
    expect(replayed, replayed.stderr).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(replayed.stdout)).toMatchObject({ requestMatch: 'exact', refusedSockets: 0 });
  });

  it('ls, and show by a short ref, a session and last, ask Jaeger which calls there were', async () => {
    const env = { ...servers.cliEnv, XDG_CONFIG_HOME: away };
    const listed = await ask(['ls', '--since', '1h', '--json'], env);
    expect(listed.code, listed.stderr).toBe(0);
    const ids = (JSON.parse(listed.stdout) as { trace: { spanId: string } }[]).map(({ trace }) => trace.spanId);
    expect(ids.sort()).toEqual(run.calls.map(({ snapshot }) => snapshot.id).sort());
    const [call] = llmCalls();
    const session = call?.snapshot.session?.id ?? '';
    for (const reference of [call?.snapshot.id.slice(0, 10) ?? '', session, 'last']) {
      const shown = await ask(['show', reference, '--json'], env);
      expect(shown, `${reference}: ${shown.stderr}`).toMatchObject({ code: 0, stderr: '' });
    }
    const promised = await ask(['ls', '--source', servers.jaeger.url], { XDG_CONFIG_HOME: away });
    expect(
      promised.stdout
        .trimEnd()
        .split('\n')
        .every((line) => line.endsWith('\tpromised')),
    ).toBe(true);
  });

  it.skipIf(config === 'file')('an s3:// address of a snapshot is fetched', async () => {
    const [call] = llmCalls();
    const uri = `${servers.store}/${call?.entry.key}`;
    const { ORANGEBOX_STORE: _store, ...access } = storeEnv;
    const fetched = await ask(['fetch', uri, '-o', '-'], access);
    expect(fetched.code, fetched.stderr).toBe(0);
    expect(JSON.parse(fetched.stdout)).toMatchObject({ digest: call?.snapshot.digest });
  });

  it('a payload that was taken away is said not to be there', async () => {
    const env = { ...servers.cliEnv, ORANGEBOX_STORE: `file://${join(away, 'empty')}`, XDG_CONFIG_HOME: away };
    const [call] = llmCalls();
    const shown = await ask(['show', call?.snapshot.id ?? ''], env);
    expect(shown.code).toBe(3);
    expect(shown.stdout).toContain(call?.entry.summary?.model);
    expect(shown.stderr).toMatch(/OBX_SNAPSHOT_(?:NOT_ARRIVED|LOST)/);
  });

  it.runIf(config === 'collector')('a bucket is set up, copied to and from, and followed', async () => {
    const target = 's3://copies/of/all';
    const made = await ask(['bucket', 'init', target, '--retention-days', '30', '--json', '--yes']);
    expect(made.code, made.stderr).toBe(0);
    expect(JSON.parse(made.stdout)).toMatchObject({ hasChanged: true });
    const again = await ask(['bucket', 'init', target, '--retention-days', '30', '--json']);
    expect(JSON.parse(again.stdout)).toMatchObject({ hasChanged: false });
    const tail = startCli(['tail', '--store', target, '--json'], { cwd: away, env: storeEnv });
    const copied = await ask(['copy', servers.store, target, '--json']);
    expect(copied.code, copied.stderr).toBe(0);
    expect(JSON.parse(copied.stdout)).toMatchObject({ copied: run.calls.length, failed: [] });
    const [call] = llmCalls();
    await tail.said(call?.snapshot.id ?? 'nothing');
    tail.child.kill('SIGINT');
    expect(await tail.ended).toMatchObject({ code: 0 });
    const back = await ask(['copy', target, 'here', '--json']);
    expect(JSON.parse(back.stdout)).toMatchObject({ copied: run.calls.length, failed: [] });
    const second = await ask(['copy', target, 'here', '--json']);
    expect(JSON.parse(second.stdout)).toMatchObject({ copied: 0, alreadyThere: run.calls.length });
    const listed = await ask(['ls', '--store', target, '--since', '1h', '--json']);
    expect(JSON.parse(listed.stdout)).toHaveLength(run.calls.length);
  });
});
