/** Files, compression and cryptography: what completes before what is as it was. */
import { afterAll, expect, it } from 'vitest';
import { cleanUp, recordProgram } from './harness.ts';

afterAll(cleanUp);

it('work of the platform is done in the recorded order, in five replays', { timeout: 120_000 }, async () => {
  const run = await recordProgram({ file: 'work.mjs' });
  expect(run.recorded).toMatchObject({ code: 0, own: '' });
  expect(run.recorded.stdout.split('\n')).toHaveLength(12);
  for (let i = 0; i < 5; i++) {
    const again = await run.replay();
    expect(again.stdout).toBe(run.recorded.stdout);
    expect(again.receipt).toMatchObject({ verdict: 'replayed', served: 9, missing: 0, warnings: [] });
  }
});
