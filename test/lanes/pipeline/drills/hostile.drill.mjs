/** 100,000 malformed requests at the archiver, and at the collector before it: what they leave, and what they cost. */
import { expect, it } from 'vitest';
import { runHostile } from '../hostile-check.ts';
import { pipeline } from '../pipeline.ts';
import { mebibytes, report } from './measured.mjs';

const COUNT = Number(process.env.HOSTILE_REQUESTS ?? 100_000);

const memory = ({ before, peak, after }) =>
  `${mebibytes(before)} before, ${mebibytes(peak)} at most, ${mebibytes(after)} after`;

it.each(['archiver', 'collector'])('malformed requests at the %s', async (at) => {
  const servers = await pipeline('collector');
  try {
    const outcome = await runHostile(servers, at, COUNT);
    report(`${outcome.sent} malformed requests at the ${at}`, {
      seconds: outcome.seconds.toFixed(0),
      'right payloads stored in between': `${outcome.right.length}, refused ${outcome.refused}`,
      'objects outside what was right': outcome.strays.length,
      overwritten: outcome.overwritten.length,
      'in quarantine': outcome.quarantined,
      'memory of the archiver': memory(outcome.archiverRssBytes),
      'memory of the collector': memory(outcome.collectorRssBytes),
      ...Object.fromEntries(
        Object.entries(outcome.answers).map(([kind, byStatus]) => [
          kind,
          Object.entries(byStatus)
            .map(([status, n]) => `${status}: ${n}`)
            .join(', '),
        ]),
      ),
    });
    process.stdout.write(`${outcome.counters.join('\n')}\n`);
    expect(outcome.strays).toEqual([]);
    expect(outcome.overwritten).toEqual([]);
    expect(outcome.refused).toBe(0);
    expect(outcome.archiverRssBytes.peak).toBeLessThan(768 * 1024 * 1024);
  } finally {
    await servers.stop();
  }
});
