/** Workers really run in a replay; what they send comes in recorded order, whoever is first this time. */
import { afterAll, expect, it } from 'vitest';
import { cleanUp, recordProgram } from './harness.ts';

afterAll(cleanUp);

it('what workers send, their failures and their ends come in the recorded order', { timeout: 120_000 }, async () => {
  const run = await recordProgram({ file: 'threads.mjs' });
  expect(run.recorded).toMatchObject({ code: 0, signal: null });
  expect(run.recorded.stdout).toContain('3 failed: three never works');
  for (let i = 0; i < 3; i++) {
    const again = await run.replay();
    expect(again.stdout).toBe(run.recorded.stdout);
    expect(again.own).toBe(run.recorded.own);
    expect(again.receipt).toMatchObject({ verdict: 'replayed', served: 6, missing: 0, extra: 0 });
  }
});
