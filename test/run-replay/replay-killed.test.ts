/** A program that dies before it can say how its replay went proves nothing, whatever its threads have said. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { cleanUp, recordProgram } from './harness.ts';

afterAll(cleanUp);

describe('a replayed program that is killed', () => {
  it('is no success by what its worker did before', async () => {
    const run = await recordProgram({ file: 'worker.mjs' });
    const file = join(run.directory, 'worker.mjs');
    const source = readFileSync(file, 'utf8');
    // The worker ends by itself, and says so, while the program stands still; then the program dies.
    const kill =
      "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500); process.kill(process.pid, 'SIGKILL');\n";
    expect(source).toContain('  console.log(said, ');
    writeFileSync(file, source.replace('  console.log(said, ', `  ${kill}  console.log(said, `));
    const again = await run.replay();
    expect(again.code).toBe(13);
    expect(again.receipt).toMatchObject({ verdict: 'nothing_served', isInstrumented: false });
  });
});
