/** The starters themselves: side by side, in faults, and after the death of who started them. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { freePorts, startCollector, startJaeger, startPrometheus, startWeed } from './servers/index.ts';
import { shippedConfig } from './pipeline.ts';

const answers = async (url: string): Promise<number | string> => {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(1000) })).status;
  } catch (error) {
    return (error as Error).name;
  }
};

it('gives no port twice', async () => {
  const ports = (await Promise.all(Array.from({ length: 20 }, () => freePorts(20)))).flat();
  expect(new Set(ports).size).toBe(400);
});

it('runs two S3 servers side by side, one of them with credentials', async () => {
  const [open, closed] = await Promise.all([
    startWeed(),
    startWeed({ credentials: { accessKeyId: 'lane-key', secretAccessKey: 'lane-secret' } }),
  ]);
  try {
    const put = async (url: string): Promise<number> => (await fetch(`${url}/bucket`, { method: 'PUT' })).status;
    expect([await put(open.url), await put(closed.url)]).toEqual([200, 403]);
    expect(open.rssBytes()).toBeGreaterThan(10e6);
  } finally {
    await Promise.all([open.stop(), closed.stop()]);
  }
  expect([existsSync(open.directory), existsSync(closed.directory)]).toEqual([false, false]);
});

it('keeps data and ports over a kill', async () => {
  const weed = await startWeed();
  try {
    await fetch(`${weed.url}/bucket`, { method: 'PUT' });
    await fetch(`${weed.url}/bucket/object`, { method: 'PUT', body: 'bytes' });
    const { pid } = weed;
    await weed.kill();
    expect(await answers(weed.url)).toBe('TypeError');
    await weed.restart();
    expect(weed.pid).not.toBe(pid);
    expect(await (await fetch(`${weed.url}/bucket/object`)).text()).toBe('bytes');
  } finally {
    await weed.stop();
  }
});

it('lets a server hang and go on', async () => {
  const jaeger = await startJaeger();
  try {
    jaeger.pause();
    expect(await answers(`${jaeger.url}/api/services`)).toBe('TimeoutError');
    jaeger.resume();
    expect(await answers(`${jaeger.url}/api/services`)).toBe(200);
  } finally {
    await jaeger.stop();
  }
});

it('scrapes a collector', async () => {
  const collector = await startCollector(shippedConfig('collector'));
  const prometheus = await startPrometheus({ collector: collector.telemetryUrl });
  try {
    const query = async (): Promise<unknown> => {
      const response = await fetch(`${prometheus.url}/api/v1/query?query=up`);
      const { data } = (await response.json()) as { data: { result: { value: [number, string] }[] } };
      return data.result.map(({ value }) => value[1]);
    };
    await expect.poll(query, { timeout: 10_000 }).toEqual(['1']);
  } finally {
    await Promise.all([collector.stop(), prometheus.stop()]);
  }
});

it('says what the log says when a server does not start', async () => {
  await expect(startCollector(shippedConfig('collector'), { ORANGEBOX_METADATA_PORT: '99999999' })).rejects.toThrow(
    /otelcol ended at its start with 1; the end of its log:\n[^]*99999999/,
  );
});

describe('a test process that is killed', () => {
  it('takes its servers with it', async () => {
    const holder = fork(new URL('holder.mjs', import.meta.url), { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    const [{ url, pid, directory }] = (await once(holder, 'message')) as [
      { url: string; pid: number; directory: string },
    ];
    expect(await answers(url)).toBe(200);
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    await expect.poll(() => existsSync(`/proc/${pid}`), { timeout: 5000 }).toBe(false);
    await expect.poll(() => existsSync(directory), { timeout: 5000 }).toBe(false);
  });
});
