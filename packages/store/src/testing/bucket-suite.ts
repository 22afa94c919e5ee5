/** What every bucket must do: one suite, run on each kind. Not part of the package's surface. */
import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import type { BucketObject, ObjectBucket } from '../objects/bucket.ts';

/** Runs the suite on buckets that `open` makes, each empty. */
export function bucketContract(
  open: () => Promise<{ bucket: ObjectBucket; remove: () => void | Promise<void> }>,
): void {
  const withBucket = async (body: (bucket: ObjectBucket) => Promise<void>): Promise<void> => {
    const { bucket, remove } = await open();
    try {
      await body(bucket);
    } finally {
      await bucket.close();
      await remove();
    }
  };
  const text = (value: string): Uint8Array => Buffer.from(value);
  const read = async (bucket: ObjectBucket, name: string): Promise<string | undefined> => {
    const bytes = await bucket.read(name, 1000);
    return bytes && Buffer.from(bytes).toString();
  };

  it('gives back the bytes that were written, from none to several MiB, and replaces them', () =>
    withBucket(async (bucket) => {
      for (const size of [0, 1, 70_000, 5 * 1024 * 1024 + 3]) {
        const bytes = randomBytes(size);
        expect(await bucket.write('a/b/c.bin', bytes, { contentType: 'application/gzip' })).toBe('written');
        expect(Buffer.compare((await bucket.read('a/b/c.bin', size)) ?? Buffer.from('x'), bytes)).toBe(0);
        expect(await bucket.stat('a/b/c.bin')).toMatchObject({ name: 'a/b/c.bin', sizeBytes: size });
      }
      const { modifiedUnixMs = 0 } = (await bucket.stat('a/b/c.bin')) ?? {};
      expect(Math.abs(modifiedUnixMs - Date.now())).toBeLessThan(60_000);
    }));

  it('knows nothing of what is not there', () =>
    withBucket(async (bucket) => {
      await bucket.write('a/b', text('x'));
      expect(await bucket.read('a/c', 10)).toBeUndefined();
      expect(await bucket.read('a/b/c', 10)).toBeUndefined();
      expect(await bucket.stat('a')).toBeUndefined();
      expect(await names(bucket, 'zzz/')).toEqual([]);
      expect(await bucket.prefixes('zzz/')).toEqual([]);
    }));

  it('refuses an object that is larger than its reader takes', () =>
    withBucket(async (bucket) => {
      await bucket.write('large', randomBytes(3_000_000));
      await expect(bucket.read('large', 2_999_999)).rejects.toMatchObject({ code: 'OBX_SNAPSHOT_TOO_LARGE' });
      expect((await bucket.read('large', 3_000_000))?.length).toBe(3_000_000);
    }));

  it('gives the first bytes of an object, fewer where it is shorter, none where it is empty', () =>
    withBucket(async (bucket) => {
      await bucket.write('o', text('0123456789'));
      await bucket.write('empty', Buffer.alloc(0));
      const start = async (name: string, size: number): Promise<string | undefined> => {
        const bytes = await bucket.readStart?.(name, size);
        return bytes && Buffer.from(bytes).toString();
      };
      expect(await start('o', 4)).toBe('0123');
      expect(await start('o', 400)).toBe('0123456789');
      expect(await start('o', 0)).toBe('');
      expect(await start('empty', 4)).toBe('');
      expect(await start('none', 4)).toBeUndefined();
    }));

  it('leaves an object alone when only an absent one is to be written; of sixteen that race, one wins', () =>
    withBucket(async (bucket) => {
      const write = (value: string): Promise<string> => bucket.write('once', text(value), { onlyIfAbsent: true });
      const outcomes = await Promise.all(Array.from({ length: 16 }, (_, i) => write(`racer ${i}`)));
      expect(outcomes.filter((outcome) => outcome === 'written')).toHaveLength(1);
      expect(await read(bucket, 'once')).toBe(`racer ${outcomes.indexOf('written')}`);
      expect(await write('late')).toBe('exists');
      expect(await names(bucket, '')).toEqual(['once']);
    }));

  it('lists in byte order, below a prefix and after a name, over more than one page', () =>
    withBucket(async (bucket) => {
      const wanted = ['a-b', 'a.c', 'a/b', 'a/b-c', 'a/bb', 'a/c/d', 'aa', 'b/x', 'b/y/z'];
      for (const name of [...wanted].reverse()) await bucket.write(name, text(name));
      const many = bucket.kind === 's3' ? 1_005 : 20;
      const numbered = Array.from({ length: many }, (_, i) => `m/${String(i).padStart(6, '0')}`);
      for (let i = 0; i < many; i += 50) {
        await Promise.all(numbered.slice(i, i + 50).map((name) => bucket.write(name, text('x'))));
      }
      const stored = await names(bucket, '');
      expect(stored).toEqual([...wanted, ...numbered].sort());
      expect(await names(bucket, 'm/')).toEqual(numbered);
      expect(await names(bucket, 'm/', numbered[many - 3])).toEqual(numbered.slice(-2));
      expect(await names(bucket, 'b/')).toEqual(['b/x', 'b/y/z']);
      expect(await names(bucket, 'a/b-')).toEqual(['a/b-c']);
      expect(await names(bucket, 'b/', 'b/x')).toEqual(['b/y/z']);
      expect(await names(bucket, 'b/', 'c')).toEqual([]);
      expect(await bucket.prefixes('b/')).toEqual(['b/y/']);
      expect(await bucket.prefixes('')).toEqual(expect.arrayContaining(['b/', 'm/']));
    }));

  it('deletes what is there and what is not', () =>
    withBucket(async (bucket) => {
      await bucket.write('d/one', text('1'));
      await bucket.write('d/e/two', text('2'));
      await bucket.write('keep', text('3'));
      await bucket.delete(['d/one', 'd/e/two', 'd/three']);
      await bucket.delete([]);
      expect(await names(bucket, '')).toEqual(['keep']);
      expect(await bucket.read('d/one', 10)).toBeUndefined();
    }));

  it('takes no name that leads out of it or stands for a file being written', () =>
    withBucket(async (bucket) => {
      for (const name of [
        '',
        '/a',
        'a/',
        'a//b',
        '..',
        'a/../../b',
        './a',
        'a\\b',
        'a\0b',
        'a\nb',
        'ü',
        '.tmp-1',
        'a'.repeat(300),
      ]) {
        await expect(bucket.write(name, text('x')), name).rejects.toMatchObject({ code: 'OBX_STORE_FAILED' });
        await expect(bucket.read(name, 10), name).rejects.toMatchObject({ code: 'OBX_STORE_FAILED' });
        await expect(bucket.stat(name), name).rejects.toMatchObject({ code: 'OBX_STORE_FAILED' });
        await expect(bucket.delete([name]), name).rejects.toMatchObject({ code: 'OBX_STORE_FAILED' });
      }
      for (const prefix of ['/', '../', 'a/../', 'a//']) {
        await expect(names(bucket, prefix), prefix).rejects.toMatchObject({ code: 'OBX_STORE_FAILED' });
        await expect(bucket.prefixes(prefix), prefix).rejects.toMatchObject({ code: 'OBX_STORE_FAILED' });
      }
    }));

  it('can be reached, and says where it is', () =>
    withBucket(async (bucket) => {
      await bucket.check();
      expect(bucket.location).not.toBe('');
    }));
}

async function names(bucket: ObjectBucket, prefix: string, startAfter?: string): Promise<string[]> {
  const found: BucketObject[] = [];
  for await (const object of bucket.list(prefix, startAfter === undefined ? {} : { startAfter })) found.push(object);
  return found.map((object) => object.name);
}

/** The methods of a bucket as plain members, to be replaced one by one. */
export function passThrough(inner: ObjectBucket): ObjectBucket {
  return {
    kind: inner.kind,
    location: inner.location,
    read: (...args) => inner.read(...args),
    stat: (...args) => inner.stat(...args),
    write: (...args) => inner.write(...args),
    list: (...args) => inner.list(...args),
    prefixes: (...args) => inner.prefixes(...args),
    delete: (...args) => inner.delete(...args),
    check: () => inner.check(),
    close: () => inner.close(),
  };
}
