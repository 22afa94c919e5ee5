import { mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBucketStore, createDirectoryBucket } from '@orangebox/store';
import { expect, it } from 'vitest';
import { TestSegments } from '../../../store/src/testing/write-segments.ts';
import { openBucketStore } from './open-bucket-store.ts';

it('reads an index object once for as long as it stays the same: tail looks at it every two seconds', async () => {
  const path = mkdtempSync(join(tmpdir(), 'orangebox-followed-'));
  try {
    const writer = createBucketStore(createDirectoryBucket(path));
    await writer.put(new TestSegments('unused').call());
    await writer.close();
    const [index = ''] = readdirSync(path, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.jsonl.gz'),
    );
    const file = join(path, index);
    const written = new Date(1_772_000_000_000);
    utimesSync(file, written, written);
    const store = openBucketStore(path, {});
    const look = async (): Promise<number> => {
      let count = 0;
      for await (const _ of store.list({ sinceUnixMs: 0 })) count += 1;
      return count;
    };
    expect(await look()).toBe(1);
    // Nobody does this: it shows that the file is not read again.
    writeFileSync(file, Buffer.alloc(statSync(file).size));
    utimesSync(file, written, written);
    expect(await look()).toBe(1);
    utimesSync(file, new Date(0), new Date(0));
    expect(await look()).toBe(0);
    await store.close();
  } finally {
    rmSync(path, { recursive: true, force: true });
  }
});
