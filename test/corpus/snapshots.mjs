/** Reads all snapshots of a recording through the built packages, as any reader would. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { buildCallSnapshot, collectRecords, decodeSegment } from '@orangebox/codec';
import { parseSegmentFileName } from '@orangebox/schema';
import { openStore, sha256 } from '@orangebox/store';

/** The snapshots under an `ORANGEBOX_DIR`, oldest first, with their list entries. */
export async function* snapshotsIn(directory) {
  const store = await openStore(directory);
  try {
    for await (const entry of store.list({ order: 'oldest' })) {
      if (entry.status !== 'not_kept' && entry.status !== 'lost') yield { entry, snapshot: await store.load(entry) };
    }
  } finally {
    await store.close();
  }
}

/** Segment files by series, each series in order. */
function seriesIn(directory) {
  const series = new Map();
  for (const path of readdirSync(join(directory, 'segments'), { recursive: true })) {
    const id = parseSegmentFileName(basename(path));
    if (id === undefined) continue;
    const name = `${id.host}-${id.pid}-${id.threadId}-${id.startUnixMs}`;
    series.set(name, [...(series.get(name) ?? []), { n: id.n, path: join(directory, 'segments', path) }]);
  }
  return [...series.values()].map((files) => files.sort((a, b) => a.n - b.n).map(({ path }) => path));
}

function* recordsOf(files) {
  for (const file of files) {
    const decoder = decodeSegment(readFileSync(file));
    for (const { record } of decoder) yield record;
    if (decoder.end.damagedFrames > 0) throw new Error(`${file} is damaged`);
  }
}

/**
 * The call snapshots of a large recording in one pass over its segments, each with the digest it promised; at the end the store
 * must list just as many.
 */
export async function* callSnapshotsIn(directory) {
  let count = 0;
  for (const files of seriesIn(directory)) {
    const { process, exchanges, calls } = collectRecords(recordsOf(files));
    for (const call of calls) {
      const records = call.exchangeIds.flatMap((id) => exchanges.get(id) ?? []);
      const snapshot = buildCallSnapshot({ call, exchanges: records, process }, sha256);
      if (snapshot.digest !== call.digest) throw new Error(`digest of span ${snapshot.id} differs`);
      count += 1;
      yield { snapshot, call };
    }
  }
  const store = await openStore(directory);
  let listed = 0;
  for await (const entry of store.list({ kinds: ['llm', 'http'] })) listed += entry.status === 'stored' ? 1 : 0;
  await store.close();
  if (listed !== count) throw new Error(`the store lists ${listed} calls of ${count}`);
}
