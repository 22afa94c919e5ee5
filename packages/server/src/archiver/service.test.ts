import { afterEach, describe, expect, it, vi } from 'vitest';
import { OrangeboxError } from '@orangebox/schema';
import { createMemoryBucket, type ObjectBucket, readIndex } from '@orangebox/store';
import { partRequest } from '../../../../test/helpers/otlp-sender.mjs';
import { type ArchiverBench, partsOf, recorded, startBench } from '../testing/archiver-bench.ts';
import { type ArchiverOptions, startArchiver } from './archiver.ts';
import { createReadiness } from './health.ts';

let current: ArchiverBench | undefined;
async function bench(options: Partial<ArchiverOptions> = {}): Promise<ArchiverBench> {
  current = await startBench(options);
  return current;
}
afterEach(async () => {
  await current?.archiver.stop();
  current = undefined;
});

const get = (running: ArchiverBench, path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${running.archiver.url}${path}`, { headers });

/** A bucket whose writes and checks fail while it is told to. */
function faulty(): { bucket: ObjectBucket; fail(code: `OBX_${string}` | undefined): void } {
  const bucket = createMemoryBucket();
  const [write, check] = [bucket.write.bind(bucket), bucket.check.bind(bucket)];
  let code: `OBX_${string}` | undefined;
  const guard = (): void => {
    if (code !== undefined) throw new OrangeboxError(code, 'the store is down');
  };
  bucket.write = async (...args) => {
    guard();
    return write(...args);
  };
  bucket.check = async () => {
    guard();
    return check();
  };
  return { bucket, fail: (next) => (code = next) };
}

describe('while the store fails', () => {
  it('everything is answered 503 and nothing is acknowledged, until it takes objects again', async () => {
    const { bucket, fail } = faulty();
    const running = await bench({ bucket, index: false });
    const { key, part } = recorded();
    for (const code of ['OBX_STORE_UNREACHABLE', 'OBX_STORE_DENIED', 'OBX_STORE_FULL'] as const) {
      fail(code);
      const answer = await running.post(partRequest(key, part));
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
      // What would go to quarantine is not acknowledged either.
      expect((await running.post(partRequest('bad', part))).status).toBe(503);
      expect(await running.metric(`store_errors_total{code="${code}"}`)).toBe(2);
    }
    expect(await running.names()).toEqual([]);
    fail(undefined);
    expect((await running.post(partRequest(key, part))).status).toBe(200);
    expect(await running.names()).toEqual([`${key}/snapshot.json.gz`]);
  });

  it('it lives and is not ready', async () => {
    const { bucket, fail } = faulty();
    fail('OBX_STORE_UNREACHABLE');
    const running = await bench({ bucket });
    expect((await get(running, '/healthz')).status).toBe(200);
    const ready = await get(running, '/readyz');
    expect([ready.status, await ready.text()]).toEqual([503, 'OBX_STORE_UNREACHABLE\n']);
  });

  it('it is not ready when writes fail though the store answers, until one succeeds', async () => {
    const { bucket, fail } = faulty();
    bucket.check = () => Promise.resolve();
    const running = await bench({ bucket, index: false });
    const { key, part } = recorded();
    const ready = async (): Promise<unknown[]> => {
      const answer = await get(running, '/readyz');
      return [answer.status, await answer.text()];
    };
    expect(await ready()).toEqual([200, 'ready\n']);
    fail('OBX_STORE_FULL');
    await running.post(partRequest(key, part));
    expect(await ready()).toEqual([503, 'OBX_STORE_FULL\n']);
    fail(undefined);
    await running.post(partRequest(key, part));
    expect(await ready()).toEqual([200, 'ready\n']);
  });

  it('a failed write counts for ten seconds, after which the store is looked at again', async () => {
    let now = 0;
    const { bucket, fail } = faulty();
    const { problem, wrote } = createReadiness(bucket, () => now);
    wrote('OBX_STORE_FULL');
    now = 9_999;
    expect(await problem()).toBe('OBX_STORE_FULL');
    now = 10_000;
    expect(await problem()).toBeUndefined();
    fail('OBX_STORE_DENIED');
    now = 15_000;
    expect(await problem()).toBe('OBX_STORE_DENIED');
  });
});

describe('at the start', () => {
  it('a store that cannot be used is told at once, with what to do, and ends nothing', async () => {
    const bucket = createMemoryBucket();
    bucket.check = () =>
      Promise.reject(new OrangeboxError('OBX_STORE_NOT_FOUND', 'no such bucket', { hint: 'make it' }));
    const told: unknown[] = [];
    await bench({ bucket, log: { info: () => {}, warn: (event, fields) => void told.push([event, fields]) } });
    await vi.waitFor(() =>
      expect(told).toEqual([
        [
          'store_failed',
          { code: 'OBX_STORE_NOT_FOUND', message: 'no such bucket', hint: 'make it', operation: 'check' },
        ],
      ]),
    );
  });
});

describe('tokens', () => {
  it('are demanded for payloads and metrics, any of several counts, and health needs none', async () => {
    const running = await bench({ host: '127.1', tokens: ['the-old-one', 'the-new-one'] });
    const { key, part } = recorded();
    const body = partRequest(key, part);
    for (const authorization of ['', 'Bearer', 'Bearer the-old-on', 'Bearer the-old-one2', 'Basic the-old-one']) {
      const answer = await running.post(body, authorization === '' ? {} : { authorization });
      expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    }
    expect(await running.names()).toEqual([]);
    for (const token of ['the-old-one', 'the-new-one']) {
      expect((await running.post(body, { authorization: `Bearer ${token}` })).status).toBe(200);
      expect((await get(running, '/metrics', { authorization: `bearer ${token}` })).status).toBe(200);
    }
    expect((await get(running, '/metrics')).status).toBe(401);
    expect((await get(running, '/healthz')).status).toBe(200);
    expect((await get(running, '/readyz')).status).toBe(200);
  });

  it('are no reason for a queue to drop what it has: it is told to come again', async () => {
    const running = await bench({ tokens: ['the-new-one'] });
    const { key, part } = recorded();
    const sender = { 'orangebox-sender': 'queue' };
    const refused = await running.post(partRequest(key, part), { ...sender, authorization: 'Bearer the-old-one' });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
    expect(await running.names()).toEqual([]);
    expect(await (await get(running, '/metrics')).text()).toContain('orangebox_archiver_unauthorized_total 1');
    const taken = await running.post(partRequest(key, part), { ...sender, authorization: 'Bearer the-new-one' });
    expect(taken.status).toBe(200);
  });

  it('may be left out for metrics where that is said', async () => {
    const running = await bench({ host: '127.1', tokens: ['secret-token'], metricsPublic: true });
    expect((await get(running, '/metrics')).status).toBe(200);
  });

  it('or client certificates there must be off loopback', async () => {
    const bucket = createMemoryBucket();
    for (const host of ['0.0.0.0', '::', '192.0.2.1', 'archiver.example']) {
      await expect(startArchiver({ bucket, host, port: 0 })).rejects.toMatchObject({ code: 'OBX_ARCHIVE_AUTH' });
    }
  });

  it('never come into the log', async () => {
    const running = await bench({ tokens: ['hidden-token'] });
    await running.post(new Uint8Array([1, 2]), { authorization: 'Bearer hidden-token' });
    await running.post(new Uint8Array([1, 2]), { authorization: 'Bearer guessed-token' });
    expect(JSON.stringify(running.lines)).not.toMatch(/hidden-token|guessed-token/);
  });
});

describe('other requests', () => {
  it.each([
    ['GET', '/v1/traces', 405],
    ['PUT', '/v1/traces', 405],
    ['POST', '/v1/metrics', 404],
    ['POST', '/', 404],
    ['GET', '/v1/traces/..', 404],
    ['POST', '/healthz', 405],
    ['HEAD', '/healthz', 200],
    ['GET', '/healthz?a=b', 200],
  ])('%s %s is answered %i', async (method, path, status) => {
    const running = await bench();
    const body = method === 'POST' || method === 'PUT' ? new Uint8Array(10) : null;
    expect((await fetch(`${running.archiver.url}${path}`, { method, body })).status).toBe(status);
  });

  it.each([
    [{ 'content-type': 'text/plain' }],
    [{ 'content-type': '' }],
    [{ 'content-encoding': 'br' }],
    [{ 'content-encoding': 'gzip, gzip' }],
  ])('with %o are answered 415', async (headers) => {
    const running = await bench();
    const answer = await running.post(new Uint8Array(10), headers);
    expect(answer.status).toBe(415);
  });
});

it('writes the row of what another one stored and was killed before it wrote the row', async () => {
  const bucket = createMemoryBucket();
  const killed = await bench({ bucket, index: false });
  const [one, several] = [recorded(), recorded(30_000)];
  const requests = [
    partRequest(one.key, one.part),
    ...partsOf(several, 3).map((part) => partRequest(several.key, part)),
  ];
  for (const request of requests) expect((await killed.post(request)).status).toBe(200);
  await killed.archiver.stop();
  // Nothing was acknowledged in time, so all of it is sent again.
  const next = await bench({ bucket });
  for (const request of requests) expect((await next.post(request)).status).toBe(200);
  await next.archiver.stop();
  expect(await next.metric('payloads_total{outcome="duplicate"}')).toBe(4);
  const keys: string[] = [];
  for await (const { key } of readIndex(bucket, { sinceUnixMs: 0 })) keys.push(key);
  expect(keys.sort()).toEqual([one.key, several.key].sort());
});

it('writes index rows of what it stored, once', async () => {
  const running = await bench();
  const all = Array.from({ length: 5 }, () => recorded());
  for (const { key, part } of [...all, ...all]) await running.post(partRequest(key, part));
  await running.archiver.stop();
  const rows: string[] = [];
  for await (const row of readIndex(running.bucket, { sinceUnixMs: 0 })) rows.push(row.key);
  expect(rows.sort()).toEqual(all.map(({ key }) => key).sort());
  expect(await running.metric('index_rows_total{outcome="written"}')).toBe(5);
});

describe('when it stops', () => {
  it('it finishes what is under way, refuses what comes after, and is not ready', async () => {
    const bucket = createMemoryBucket();
    const write = bucket.write.bind(bucket);
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    let reached: () => void = () => undefined;
    const writing = new Promise<void>((resolve) => (reached = resolve));
    bucket.write = async (...args) => {
      reached();
      await held;
      return write(...args);
    };
    const running = await bench({ bucket, index: false });
    const { key, part } = recorded();
    const underWay = running.post(partRequest(key, part));
    await writing;
    const stopped = running.archiver.stop();
    await expect(running.post(partRequest(key, part))).rejects.toThrow();
    release();
    const answer = await underWay;
    expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
    await stopped;
    expect(await running.names()).toEqual([`${key}/snapshot.json.gz`]);
  });

  it('it waits only so long', async () => {
    const bucket = createMemoryBucket();
    let reached: () => void = () => undefined;
    const writing = new Promise<void>((resolve) => (reached = resolve));
    bucket.write = () => {
      reached();
      return new Promise(() => undefined);
    };
    const running = await bench({ bucket, index: false, limits: { drainMs: 50 } });
    const { key, part } = recorded();
    const lost = running.post(partRequest(key, part)).then(
      () => 'answered',
      () => 'cut',
    );
    await writing;
    await running.archiver.stop();
    expect(await lost).toBe('cut');
  });
});
