/** Sends hostile requests into a pipeline and says what is in its store afterwards that must not be. */
import { type HostileResult, sendHostile } from './hostile-requests.ts';
import { requestOf, samplePayload, send } from './payloads.ts';
import type { Pipeline } from './pipeline.ts';
import { bucketOf, objectNames } from './stored-objects.ts';

/** What a run of hostile requests came to. */
export interface HostileOutcome extends HostileResult {
  /** Objects that are neither a right payload, nor in quarantine, nor of the index. */
  strays: string[];
  /** Right payloads whose object is gone or has other bytes. */
  overwritten: string[];
  quarantined: number;
  /** Lines of the archiver's counters, of what is not zero. */
  counters: string[];
  archiverRssBytes: { before: number; after: number; peak: number };
  collectorRssBytes: { before: number; after: number; peak: number };
  seconds: number;
}

/** Stores a payload, sends `count` hostile requests at the archiver or the collector, and looks. */
export async function runHostile(
  servers: Pipeline,
  at: 'archiver' | 'collector',
  count: number,
): Promise<HostileOutcome> {
  const { archiver, collector } = servers;
  if (archiver === undefined) throw new Error('this configuration has no archiver');
  const url = at === 'archiver' ? archiver.url : collector.payloadUrl;
  const victim = await samplePayload();
  const first = await send(url, requestOf(victim));
  if (first.status !== 200) throw new Error(`the payload to be attacked was answered ${first.status}: ${first.text}`);
  const before = { archiver: archiver.rssBytes(), collector: collector.rssBytes() };
  const startMs = performance.now();
  const result = await sendHostile(url, count, victim);
  const seconds = (performance.now() - startMs) / 1000;
  const metrics = await (await fetch(`${archiver.url}/metrics`)).text();
  const bucket = bucketOf(servers);
  try {
    const right = new Map(
      [victim, ...result.right].map((payload) => [`${payload.key}/snapshot.json.gz`, payload.bytes]),
    );
    const overwritten: string[] = [];
    for (const [name, bytes] of right) {
      const stored = await bucket.read(name, 1e8);
      if (stored === undefined || Buffer.compare(stored, bytes) !== 0) overwritten.push(name);
    }
    const names = await objectNames(bucket, '');
    const isExpected = (name: string): boolean => right.has(name) || /^(?:quarantine|index)\/v1\/\d{8}\//.test(name);
    return {
      ...result,
      strays: names.filter((name) => !isExpected(name)),
      overwritten,
      quarantined: names.filter((name) => name.startsWith('quarantine/') && name.endsWith('.bin')).length,
      counters: metrics
        .split('\n')
        .filter((line) => /^orangebox_archiver_\w+_total/.test(line) && !line.endsWith(' 0')),
      archiverRssBytes: { before: before.archiver, after: archiver.rssBytes(), peak: archiver.peakRssBytes() },
      collectorRssBytes: { before: before.collector, after: collector.rssBytes(), peak: collector.peakRssBytes() },
      seconds,
    };
  } finally {
    await bucket.close();
  }
}
