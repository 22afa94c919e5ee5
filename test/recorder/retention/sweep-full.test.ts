/** Room that `orangebox ship` and `orangebox recover` make where a program found the directory full. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sweepFullDirectory } from '../../../packages/recorder/src/recovery/sweep-full.ts';
import { makeCalls, TestDirectory } from './series.ts';

test('is made down to the bound in the mark, which goes then; without one nothing is removed', async () => {
  const { process, calls } = makeCalls(
    Array.from({ length: 24 }, () => ({ responseChunks: [new Uint8Array(3000).fill(0x61)] })),
  );
  const box = new TestDirectory();
  try {
    box.write(
      process,
      [calls.slice(0, 12), calls.slice(12)].map((some) => some.flatMap(({ records }) => records)),
    );
    const before = box.sizeBytes;
    const mark = join(box.dir, '.full');
    expect(await sweepFullDirectory(box.dir)).toEqual({ unsent: 0, sent: 0 });
    writeFileSync(mark, 'who knows');
    expect(await sweepFullDirectory(box.dir)).toEqual({ unsent: 0, sent: 0 });
    expect([box.sizeBytes, existsSync(mark)]).toEqual([before, true]);
    writeFileSync(mark, `${before * 10} 65536\n`);
    const { unsent } = await sweepFullDirectory(box.dir);
    expect(unsent).toBeGreaterThan(0);
    expect(box.sizeBytes).toBeLessThanOrEqual(32_768);
    expect((await box.load()).size).toBe(24 - unsent);
    expect(existsSync(mark) && readFileSync(mark, 'utf8')).toBe(false);
  } finally {
    box.dispose();
  }
});
