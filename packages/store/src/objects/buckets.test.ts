import { mkdirSync, readdirSync, statSync, symlinkSync, utimesSync, watch, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { bucketContract } from '../testing/bucket-suite.ts';
import { temporaryDirectory } from '../testing/write-segments.ts';
import { createDirectoryBucket } from './directory-bucket.ts';
import { createMemoryBucket } from './memory-bucket.ts';
import { openBucket, s3OptionsOf } from './open-bucket.ts';
import { createS3Bucket } from './s3-bucket.ts';

describe('a bucket in memory', () => {
  bucketContract(async () => ({ bucket: createMemoryBucket(), remove: () => {} }));
});

describe('a directory as a bucket', () => {
  bucketContract(async () => {
    const { path, remove } = temporaryDirectory();
    return { bucket: createDirectoryBucket(join(path, 'tree')), remove };
  });

  it('keeps files private, leaves no half ones and follows no link', async () => {
    const { path, remove } = temporaryDirectory();
    try {
      const base = join(path, 'tree');
      const bucket = createDirectoryBucket(base);
      await bucket.write('v1/x', Buffer.from('x'));
      expect(statSync(base).mode & 0o777).toBe(0o700);
      expect(statSync(join(base, 'v1/x')).mode & 0o777).toBe(0o600);
      writeFileSync(join(base, 'v1/.tmp-123'), 'half');
      writeFileSync(join(path, 'secret'), 'secret');
      symlinkSync(join(path, 'secret'), join(base, 'v1/link'));
      mkdirSync(join(path, 'other'));
      writeFileSync(join(path, 'other/y'), 'y');
      symlinkSync(join(path, 'other'), join(base, 'v1/folder'));
      const found: string[] = [];
      for await (const object of bucket.list('')) found.push(object.name);
      expect(found).toEqual(['v1/x']);
      expect(await bucket.read('v1/link', 100)).toBeUndefined();
      expect(await bucket.stat('v1/link')).toBeUndefined();
      await bucket.delete(['v1/x', 'v1/link']);
      expect(readdirSync(path).sort()).toEqual(['other', 'secret', 'tree']);
    } finally {
      remove();
    }
  });

  it('sweeps what killed writers left an hour ago, once per process, and nothing else', async () => {
    const { path, remove } = temporaryDirectory();
    try {
      const old = new Date(Date.now() - 3_700_000);
      const leave = (name: string, time = old): void => {
        writeFileSync(join(path, name), 'half');
        utimesSync(join(path, name), time, time);
      };
      const [killed, writing] = [`.tmp-${'a1'.repeat(6)}`, `.tmp-${'b2'.repeat(6)}`];
      leave(killed);
      leave(writing, new Date());
      for (const name of ['.tmp-notes', `.tmp-${'a1'.repeat(6)}.txt`, 'old']) leave(name);
      const others = ['.tmp-notes', `.tmp-${'a1'.repeat(6)}.txt`, writing, 'old', 'v1'].sort();
      mkdirSync(join(path, `.tmp-${'c3'.repeat(6)}`));
      utimesSync(join(path, `.tmp-${'c3'.repeat(6)}`), old, old);
      others.push(`.tmp-${'c3'.repeat(6)}`);
      const bucket = createDirectoryBucket(path);
      await bucket.write('v1/day/trace/x', Buffer.from('x'));
      expect(readdirSync(path).sort()).toEqual(others.sort());
      leave(killed);
      await bucket.write('v1/day/trace/y', Buffer.from('y'));
      expect(readdirSync(path)).toContain(killed);
    } finally {
      remove();
    }
  });

  it('writes at the top, where a killed writer leaves what the next one finds', async () => {
    const { path, remove } = temporaryDirectory();
    try {
      const bucket = createDirectoryBucket(path);
      await bucket.write('v1/day/x', Buffer.from('x'));
      const seen = new Set<string>();
      const watcher = watch(path, (_event, name) => void seen.add(name ?? ''));
      try {
        await bucket.write('v1/day/y', Buffer.from('y'));
        await vi.waitFor(() => expect([...seen]).toEqual([expect.stringMatching(/^\.tmp-[0-9a-f]{12}$/)]));
      } finally {
        watcher.close();
      }
      expect(readdirSync(join(path, 'v1/day')).sort()).toEqual(['x', 'y']);
    } finally {
      remove();
    }
  });

  it('reads, writes and deletes nothing through a link in the middle of a name', async () => {
    const { path, remove } = temporaryDirectory();
    try {
      const base = join(path, 'tree');
      const bucket = createDirectoryBucket(base);
      await bucket.write('v1/x', Buffer.from('x'));
      mkdirSync(join(path, 'other/day/trace'), { recursive: true });
      writeFileSync(join(path, 'other/day/trace/y'), 'secret');
      symlinkSync(join(path, 'other'), join(base, 'v1/out'));
      for (const name of ['v1/out/day/trace/y', 'v1/out/z']) {
        expect(await bucket.read(name, 100)).toBeUndefined();
        expect(await bucket.readStart?.(name, 3)).toBeUndefined();
        expect(await bucket.stat(name)).toBeUndefined();
        for (const onlyIfAbsent of [false, true]) {
          await expect(bucket.write(name, Buffer.from('w'), { onlyIfAbsent })).rejects.toMatchObject({
            code: 'OBX_STORE_DENIED',
            message: expect.stringContaining('by a link'),
          });
        }
        await bucket.delete([name]);
      }
      const deep = bucket.write('v1/out/new/deep/z', Buffer.from('w'));
      await expect(deep).rejects.toMatchObject({ code: 'OBX_STORE_DENIED' });
      const listed: string[] = [];
      for await (const object of bucket.list('v1/out/day/')) listed.push(object.name);
      expect(listed).toEqual([]);
      expect(await bucket.prefixes('v1/out/')).toEqual([]);
      expect(readdirSync(join(path, 'other'), { recursive: true }).sort()).toEqual(['day', 'day/trace', 'day/trace/y']);
    } finally {
      remove();
    }
  });

  it('may itself be named by a link, also by a relative path', async () => {
    const { path, remove } = temporaryDirectory();
    try {
      mkdirSync(join(path, 'disk'));
      symlinkSync(join(path, 'disk'), join(path, 'tree'));
      for (const name of [join(path, 'tree'), `./${relative(process.cwd(), join(path, 'tree'))}/`]) {
        const bucket = createDirectoryBucket(name);
        await bucket.write('v1/a/x', Buffer.from('x'));
        expect(Buffer.from((await bucket.read('v1/a/x', 9)) ?? []).toString()).toBe('x');
        expect(await bucket.prefixes('v1/')).toEqual(['v1/a/']);
        await bucket.delete(['v1/a/x']);
      }
    } finally {
      remove();
    }
  });

  it('says that it cannot be used when a file stands in its place', async () => {
    const { path, remove } = temporaryDirectory();
    try {
      writeFileSync(join(path, 'file'), '');
      await expect(createDirectoryBucket(join(path, 'file')).check()).rejects.toMatchObject({
        code: expect.stringMatching(/^OBX_STORE_(NOT_FOUND|FAILED)$/),
      });
    } finally {
      remove();
    }
  });
});

describe('opening a bucket', () => {
  it('takes s3 URLs, paths and file URLs', () => {
    expect(openBucket('s3://some-bucket//a/b/', { env: {} })).toMatchObject({
      kind: 's3',
      location: 's3://some-bucket/a/b',
    });
    expect(openBucket('S3://some-bucket', { env: {} }).location).toBe('s3://some-bucket');
    expect(openBucket('rec', { env: {}, cwd: '/srv' })).toMatchObject({ kind: 'directory', location: '/srv/rec' });
    expect(openBucket('file:///srv/a%20b', { env: {} }).location).toBe('/srv/a b');
    expect(openBucket('FILE:///srv/a', { env: {} }).location).toBe('/srv/a');
  });

  it('refuses what is no bucket, and repeats no credentials', () => {
    const bad = ['s3://', 's3://a', 's3://bucket/../x', 's3://bu cket', 's3://bucket/ü', 's3:bucket'];
    // A directory of such a name would be made at the first write, and recordings be kept where nobody looks.
    const elsewhere = [
      'gs://bucket',
      'https://minio:9000/bucket',
      'file://host/srv',
      'file:///srv/%zz',
      'file:///a%2Fb',
    ];
    for (const url of [...bad, ...elsewhere]) {
      expect(() => openBucket(url, { env: {} }), url).toThrow(expect.objectContaining({ code: 'OBX_STORE_URL' }));
    }
    for (const make of [
      () => openBucket('s3://AKIDKEY:hunter2@bucket', { env: {} }),
      () => openBucket('s3://bucket', { env: { AWS_ENDPOINT_URL_S3: 'http://AKIDKEY:hunter2@127.0.0.1:1' } }),
      () => openBucket('https://AKIDKEY:hunter2@minio:9000/bucket', { env: {} }),
      () => createS3Bucket({ url: 's3://bucket', endpoint: 'ftp://AKIDKEY:hunter2@127.0.0.1' }),
    ]) {
      expect(make).toThrow(expect.objectContaining({ code: 'OBX_STORE_URL' }));
      expect(make).not.toThrow(/AKIDKEY|hunter2/);
    }
  });

  it('finds the settings by the names that the AWS tools read', () => {
    expect(
      s3OptionsOf({
        AWS_ENDPOINT_URL: 'http://127.0.0.1:1',
        AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:2',
        AWS_DEFAULT_REGION: 'eu-west-1',
        AWS_ACCESS_KEY_ID: 'id',
        AWS_SECRET_ACCESS_KEY: 'secret',
        AWS_SESSION_TOKEN: '',
        AWS_REQUEST_CHECKSUM_CALCULATION: 'WHEN_REQUIRED',
      }),
    ).toEqual({
      endpoint: 'http://127.0.0.1:2',
      region: 'eu-west-1',
      credentials: { accessKeyId: 'id', secretAccessKey: 'secret' },
      checksum: 'when_required',
    });
    expect(s3OptionsOf({})).toEqual({});
  });
});
