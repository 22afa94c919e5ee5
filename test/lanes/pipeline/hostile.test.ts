/** A sample of the drill `hostile`: malformed requests at the archiver, and at the collector before it. */
import { expect, it } from 'vitest';
import { runHostile } from './hostile-check.ts';
import { pipeline } from './pipeline.ts';

const MIB = 1024 * 1024;

it.each(['archiver', 'collector'] as const)('2,000 malformed requests at the %s leave nothing behind', async (at) => {
  const servers = await pipeline('collector');
  try {
    const outcome = await runHostile(servers, at, 2000);
    expect(outcome.strays).toEqual([]);
    expect(outcome.overwritten).toEqual([]);
    expect([outcome.right.length, outcome.refused]).toEqual([4, 0]);
    expect(outcome.archiverRssBytes.peak).toBeLessThan(600 * MIB);
    // Nothing is a fault of the server. (307: the collector sends unclean paths to clean ones.)
    const statuses = new Set(Object.values(outcome.answers).flatMap((byStatus) => Object.keys(byStatus)));
    expect([...statuses].filter((status) => !/^(?:200|307|400|404|405|413|415|431|503|cut)$/.test(status))).toEqual([]);
  } finally {
    await servers.stop();
  }
});
