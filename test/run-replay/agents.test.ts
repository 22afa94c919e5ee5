/** Agents with the SDKs and frameworks that people use are recorded, and run again twice with nobody there. */
import { describe, expect, it } from 'vitest';
import { agents } from '../drills/replay/agents.mjs';
import { recordAgent } from '../drills/replay/recorded-agent.mjs';

describe('an unmodified agent gives the same output, errors, exit code and files again, without a connection', () => {
  it.each(agents)('$name', { timeout: 180_000 }, async (agent) => {
    const run = await recordAgent(agent);
    try {
      expect(run.recorded).toMatchObject({ exitCode: agent.code });
      expect(run.recorded.stdout).not.toBe('');
      expect(Object.keys(run.recorded.files)).toHaveLength(1);
      // Six turns and more.
      expect(run.requests).toBeGreaterThan(6);
      for (let i = 0; i < 2; i++) {
        const again = await run.replay();
        expect(run.differences(again)).toEqual([]);
        expect(again.digest).toBe(run.digest);
        expect(again.receipt).toMatchObject({ verdict: 'replayed', missing: 0, extra: 0, refused: [] });
      }
    } finally {
      await run.remove();
    }
  });
});
