/** The recordings: whole files, nothing lost, nothing dropped, nothing left to ship, times that can be. */
import type { StoredEntry } from '@orangebox/store';
import type { CommandContext } from '../context.ts';
import { openStore } from '../open-store.ts';
import { formatTime, plural } from '../text/format.ts';
import type { Check } from './check.ts';
import { scanSegments } from './scan-segments.ts';

/** A clock may be this much ahead before it is worth a word. */
const CLOCK_SLACK_MS = 60_000;

/** Checks files, losses, drops, shipping and clock. */
export async function checkRecordings(context: CommandContext): Promise<Check[]> {
  const { store, located } = await openStore(context);
  const lost: StoredEntry[] = [];
  const unshipped: StoredEntry[] = [];
  const ahead: StoredEntry[] = [];
  let shipped = 0;
  let stored = 0;
  for await (const entry of store.list()) {
    if (entry.status === 'lost') lost.push(entry);
    if (entry.status === 'stored') stored++;
    if (entry.shipped === true) shipped++;
    else if (entry.key !== undefined && entry.status === 'stored') unshipped.push(entry);
    const start = Number(BigInt(entry.time.startUnixNano) / 1_000_000n);
    if (start > context.nowMs + CLOCK_SLACK_MS || BigInt(entry.time.endUnixNano) < BigInt(entry.time.startUnixNano)) ahead.push(entry);
  }
  const problems = await store.problems();
  await store.close();
  const scan = await scanSegments(located.dir);
  const checks: Check[] = problems.map((problem) => ({
    name: 'file',
    result: problem.code.includes('TORN') ? 'warning' : 'problem',
    message: `${problem.location}: ${problem.message} [${problem.code}]`,
    ...(problem.hint === undefined ? {} : { hint: problem.hint }),
  }));
  if (problems.length === 0) checks.push({ name: 'files', result: 'ok', message: `${plural(stored, 'snapshot')} readable` });
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
  checks.push(dropCheck(scan.drops), clockCheck(ahead));
  const ships = shipped > 0 || context.env.recording['ORANGEBOX_ENDPOINT'] !== undefined;
  if (ships) checks.push(shippingCheck(unshipped, shipped));
  if (scan.versions.size > 0) {
    checks.push({ name: 'recorded by', result: 'ok', message: [...scan.versions].sort().join(', ') });
  }
  return checks;
}

function dropCheck(drops: ReadonlyMap<string, number>): Check {
  const name = 'drops';
  if (drops.size === 0) return { name, result: 'ok', message: 'nothing was left out while recording' };
  const list = [...drops].map(([reason, count]) => `${reason.replaceAll('_', ' ')} ${count}×`).join(', ');
  return { name, result: 'problem', message: list, hint: 'docs/configuration.md has the limits and what they drop' };
}

function clockCheck(ahead: readonly StoredEntry[]): Check {
  const name = 'clock';
  const [first] = ahead;
  if (first === undefined) return { name, result: 'ok', message: 'no recording is from the future' };
  const hint = 'the clock of this machine or of the recording one is off, or was set meanwhile';
  return { name, result: 'warning', message: `${plural(ahead.length, 'recording')} with impossible times, first ${first.ref}`, hint };
}

function shippingCheck(unshipped: readonly StoredEntry[], shipped: number): Check {
  const name = 'shipping';
  if (unshipped.length === 0) return { name, result: 'ok', message: `${plural(shipped, 'payload')} acknowledged` };
  const hint = 'they stay in the segment; a process that still runs goes on sending them';
  return { name, result: 'warning', message: `${shipped} acknowledged, ${unshipped.length} not yet`, hint };
}
