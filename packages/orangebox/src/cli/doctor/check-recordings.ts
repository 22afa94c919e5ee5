/** The recordings: whole files, nothing lost, nothing dropped, nothing left to ship, times that can be. */
import { OrangeboxError } from '@orangebox/schema';
import { createSegmentStore, type DroppedCount, type SnapshotStore, type StoredEntry } from '@orangebox/store';
import type { CommandContext } from '../context.ts';
import { openStore } from '../open-store.ts';
import { formatTime, plural } from '../text/format.ts';
import type { Check } from './check.ts';

/** A clock may be this much ahead before it is worth a word. */
const CLOCK_SLACK_MS = 60_000;

/** Checks files, losses, drops, shipping and clock. */
export async function checkRecordings(context: CommandContext): Promise<Check[]> {
  const { store, located } = await openStore(context, { onlyHere: true });
  const lost: StoredEntry[] = [];
  const unshipped: StoredEntry[] = [];
  const ahead: StoredEntry[] = [];
  let shipped = 0;
  let stored = 0;
  let newest: StoredEntry | undefined;
  for await (const entry of store.list()) {
    if (entry.status === 'lost') lost.push(entry);
    if (entry.status === 'stored') {
      stored++;
      newest ??= entry;
    }
    if (entry.shipped === true) shipped++;
    else if (entry.key !== undefined && entry.status === 'stored') unshipped.push(entry);
    const start = Number(BigInt(entry.time.startUnixNano) / 1_000_000n);
    if (start > context.nowMs + CLOCK_SLACK_MS || BigInt(entry.time.endUnixNano) < BigInt(entry.time.startUnixNano))
      ahead.push(entry);
  }
  const problems = await store.problems();
  const writer = newest === undefined ? undefined : await checkNewest(store, newest);
  await store.close();
  const segments = createSegmentStore(located.dir);
  const drops = await segments.dropped();
  await segments.close();
  const checks: Check[] = problems.map((problem) => ({
    name: 'file',
    result: problem.code.includes('TORN') ? 'warning' : 'problem',
    message: `${problem.location}: ${problem.message} [${problem.code}]`,
    ...(problem.hint === undefined ? {} : { hint: problem.hint }),
  }));
  if (problems.length === 0)
    checks.push({ name: 'files', result: 'ok', message: `${plural(stored, 'snapshot')} readable` });
  checks.push(
    lost.length === 0
      ? { name: 'lost', result: 'ok', message: 'no promised snapshot is missing' }
      : {
          name: 'lost',
          result: 'problem',
          message: `${plural(lost.length, 'promised snapshot')} missing, the newest of ${formatTime(lost[0]?.time.startUnixNano ?? '0')}`,
          hint: 'the oldest files go when ORANGEBOX_DIR_BYTES is reached: raise it, or ship payloads with ORANGEBOX_ENDPOINT',
        },
  );
  checks.push(dropCheck(drops), clockCheck(ahead));
  const ships = shipped > 0 || context.env.recording['ORANGEBOX_ENDPOINT'] !== undefined;
  if (ships) checks.push(shippingCheck(unshipped, shipped, located.dir));
  if (writer !== undefined) checks.push(writer);
  return checks;
}

/** Loads the newest snapshot whole: its digest is checked, and it says who wrote it. */
async function checkNewest(store: SnapshotStore, entry: StoredEntry): Promise<Check> {
  const name = 'newest';
  try {
    const { process: writer, digest } = await store.load(entry);
    const message = `${entry.ref}, digest ${digest.slice(0, 16)}… holds; recorded by orangebox ${writer.orangebox} on node ${writer.node}`;
    return { name, result: 'ok', message };
  } catch (error) {
    if (!(error instanceof OrangeboxError)) throw error;
    return {
      name,
      result: 'problem',
      message: `${entry.ref}: ${error.message}`,
      ...(error.hint === undefined ? {} : { hint: error.hint }),
    };
  }
}

function dropCheck(drops: readonly DroppedCount[]): Check {
  const name = 'drops';
  if (drops.length === 0) return { name, result: 'ok', message: 'nothing was left out while recording' };
  const list = drops.map(({ reason, count }) => `${reason.replaceAll('_', ' ')} ${count}×`).join(', ');
  return { name, result: 'problem', message: list, hint: 'docs/configuration.md has the limits and what they drop' };
}

function clockCheck(ahead: readonly StoredEntry[]): Check {
  const name = 'clock';
  const [first] = ahead;
  if (first === undefined) return { name, result: 'ok', message: 'no recording is from the future' };
  const hint = 'the clock of this machine or of the recording one is off, or was set meanwhile';
  return {
    name,
    result: 'warning',
    message: `${plural(ahead.length, 'recording')} with impossible times, first ${first.ref}`,
    hint,
  };
}

function shippingCheck(unshipped: readonly StoredEntry[], shipped: number, dir: string): Check {
  const name = 'shipping';
  if (unshipped.length === 0) return { name, result: 'ok', message: `${plural(shipped, 'payload')} acknowledged` };
  const hint = `they stay here: a process that still runs goes on sending its own; of one that has ended, send them with orangebox copy ${dir} s3://bucket/prefix`;
  return { name, result: 'warning', message: `${shipped} acknowledged, ${unshipped.length} not yet`, hint };
}
