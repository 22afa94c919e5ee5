import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { CommandContext, PlaceOptions } from './context.ts';
import { readEnv } from './env.ts';
import { findPlaces, type Places, shownUrl } from './places.ts';

const directory = mkdtempSync(join(tmpdir(), 'obx-places-'));
const config = join(directory, 'config.json');
writeFileSync(
  config,
  JSON.stringify({
    contexts: {
      prod: {
        source: 'https://jaeger.prod',
        store: 's3://prod/x',
        s3Endpoint: 'https://s3.prod',
        profile: 'reader',
        headers: { 'X-Key': 'of-prod' },
      },
      bare: { source: 'https://tempo.bare' },
    },
  }),
  { mode: 0o600 },
);
afterAll(() => rmSync(directory, { recursive: true }));

const ENV = {
  ORANGEBOX_CONFIG: config,
  ORANGEBOX_SOURCE: 'https://jaeger.env/base',
  ORANGEBOX_SOURCE_HEADERS: 'authorization=of-env',
  ORANGEBOX_STORE: 's3://env',
  AWS_ACCESS_KEY_ID: 'key-of-env',
};

function places(flags: PlaceOptions & { dir?: string } = {}, env: NodeJS.ProcessEnv = ENV): Promise<Places> {
  const { dir, ...named } = flags;
  return findPlaces({ env: readEnv(env), places: named, dir, cwd: '/', nowMs: 0 } as unknown as CommandContext);
}

describe('where a command reads from', () => {
  it('is all of what the environment names, beside the local recordings', async () => {
    expect(await places()).toMatchObject({
      source: { url: 'https://jaeger.env/base', headers: { authorization: 'of-env' }, basis: 'ORANGEBOX_SOURCE' },
      store: { url: 's3://env', basis: 'ORANGEBOX_STORE', payloadsOnly: false },
      local: true,
    });
  });

  it('is only the local recordings with --dir or --source local', async () => {
    expect(await places({ dir: '/x' })).toMatchObject({ source: undefined, store: undefined, local: true });
    expect(await places({ source: 'local' })).toMatchObject({ source: undefined, store: undefined, local: true });
  });

  it('is only the bucket with --store, and the backend with the payloads of the environment with --source', async () => {
    expect(await places({ store: 's3://flag' })).toMatchObject({
      source: undefined,
      store: { url: 's3://flag', payloadsOnly: false },
      local: false,
    });
    expect(await places({ source: 'https://other' })).toMatchObject({
      source: { url: 'https://other', headers: {} },
      store: { url: 's3://env', payloadsOnly: true },
      local: false,
    });
  });

  it('is the context before the environment, and the flag before both', async () => {
    const prod = await places({ context: 'prod' });
    expect(prod).toMatchObject({
      contextName: 'prod',
      source: { url: 'https://jaeger.prod', headers: { 'X-Key': 'of-prod' }, basis: 'context prod' },
      store: { url: 's3://prod/x', basis: 'context prod' },
      local: false,
    });
    expect(prod.storeEnv).toMatchObject({ AWS_ENDPOINT_URL_S3: 'https://s3.prod', AWS_PROFILE: 'reader' });
    expect(prod.storeEnv['AWS_ACCESS_KEY_ID']).toBeUndefined();
    expect(await places({ context: 'bare' })).toMatchObject({
      source: { url: 'https://tempo.bare', headers: {} },
      store: { url: 's3://env', basis: 'ORANGEBOX_STORE' },
    });
    expect(await places({ context: 'prod', store: 's3://flag' })).toMatchObject({
      source: { url: 'https://jaeger.prod' },
      store: { url: 's3://flag' },
    });
    expect(await places({}, { ...ENV, ORANGEBOX_CONTEXT: 'prod' })).toMatchObject({
      source: { url: 'https://jaeger.prod' },
      local: true,
    });
  });

  it('gives headers to the source that they were written for only', async () => {
    const headersOf = async (source: string, env: NodeJS.ProcessEnv = ENV): Promise<unknown> =>
      (await places({ source }, env)).source?.headers;
    expect(await headersOf('jaeger+https://jaeger.env/other')).toEqual({ authorization: 'of-env' });
    expect(await headersOf('http://jaeger.env/base')).toEqual({});
    expect(await headersOf('https://jaeger.env:444/base')).toEqual({});
    expect(await headersOf('https://jaeger.env.evil/base')).toEqual({});
    const { ORANGEBOX_SOURCE: _source, ...without } = ENV;
    expect(await headersOf('https://any', without)).toEqual({ authorization: 'of-env' });
    expect((await places({ context: 'prod', source: 'https://elsewhere' })).source?.headers).toEqual({});
  });

  it('never shows user name and password of an address', () => {
    expect(shownUrl('https://me:hush@host/x@y')).toBe('https://host/x@y');
    expect(shownUrl('jaeger+http://hush@host')).toBe('jaeger+http://host');
    expect(shownUrl('s3://bucket/a@b')).toBe('s3://bucket/a@b');
  });
});
