/** The recordings: whole files, nothing lost, nothing dropped, nothing left to ship, times that can be. */
import { OrangeboxError } from '@orangebox/schema';
import { createSegmentStore, type DroppedCount, type SnapshotStore, type StoredEntry } from '@orangebox/store';
import type { CommandContext } from '../context.ts';
import { openStore } from '../open-store.ts';
import { formatTime, plural } from '../text/format.ts';
import type { Check } from './check.ts';

/** A clock may be this much ahead before it is worth a word. */
const CLOCK_SLACK_MS = 60_000;
/** Reason of what sampling or the level let go. */
const NOT_SAMPLED = 'not_sampled';

/** Checks files, losses, drops, shipping and clock. */
export async function checkRecordings(context: CommandContext): Promise<Check[]> {
  const { store, located } = await openStore(context, { onlyHere: true });
  const lost: StoredEntry[] = [];
  const unshipped: StoredEntry[] = [];
  const refused: StoredEntry[] = [];
  let unrecovered = 0;
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
    if (entry.unrecovered === true) unrecovered++;
    if (entry.quarantined !== undefined) refused.push(entry);
    else if (entry.shipped === true) shipped++;
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
          hint: 'somebody removed files of segments; what bounds remove is counted under drops, and never halved',
        },
  );
  checks.push(
    dropCheck(drops.filter(({ reason }) => reason !== NOT_SAMPLED)),
    ...sampledCheck(drops),
    clockCheck(ahead),
  );
  const ships = shipped > 0 || context.env.recording['ORANGEBOX_ENDPOINT'] !== undefined;
  if (ships) checks.push(shippingCheck(unshipped, shipped, located.dir));
  checks.push(...refusedCheck(refused, located.dir), ...recoveryCheck(unrecovered, located.dir));
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

/** Removed for a bound after an endpoint had them: nothing is lost. */
const SENT_BEFORE: ReadonlySet<string> = new Set(['dir_bytes_sent', 'dir_age_sent']);

function dropCheck(drops: readonly DroppedCount[]): Check {
  const name = 'drops';
  const lost = drops.filter(({ reason }) => !SENT_BEFORE.has(reason));
  const sent = drops.reduce((sum, { reason, count }) => sum + (SENT_BEFORE.has(reason) ? count : 0), 0);
  const removed = sent === 0 ? '' : `${plural(sent, 'recording')} removed after they had been sent`;
  if (lost.length === 0) return { name, result: 'ok', message: removed || 'nothing was left out while recording' };
  const list = lost.map(({ reason, count }) => `${reason.replaceAll('_', ' ')} ${count}×`);
  const message = [...list, ...(removed ? [removed] : [])].join(', ');
  return {
    name,
    result: 'problem',
    message,
    hint: 'docs/configuration.md has the limits, docs/retention.md what goes when the directory is full',
  };
}

/** What was let go as somebody wished: told, and no loss. */
function sampledCheck(drops: readonly DroppedCount[]): Check[] {
  const count = drops.find(({ reason }) => reason === NOT_SAMPLED)?.count ?? 0;
  if (count === 0) return [];
  const message = `${plural(count, 'call or tool run', 'calls and tool runs')} not kept, as ORANGEBOX_SAMPLE or the level says`;
  return [{ name: 'sampling', result: 'ok', message }];
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
  const hint = `they stay here: a process that still runs goes on sending its own; of one that has ended, send them with orangebox recover ${dir}`;
  return { name, result: 'warning', message: `${shipped} acknowledged, ${unshipped.length} not yet`, hint };
}

/** Payloads that an endpoint does not want, by its reasons. */
function refusedCheck(refused: readonly StoredEntry[], dir: string): Check[] {
  if (refused.length === 0) return [];
  const reasons = new Map<string, number>();
  for (const { quarantined = '' } of refused) reasons.set(quarantined, (reasons.get(quarantined) ?? 0) + 1);
  const list = [...reasons].map(([reason, count]) => `${reason} ${count}×`).join(', ');
  return [
    {
      name: 'refused',
      result: 'problem',
      message: `the endpoint refused ${plural(refused.length, 'payload')} for good: ${list}`,
      hint: `when it takes them, send them again with orangebox recover ${dir} --retry-quarantined`,
    },
  ];
}

/** Calls whose process died, and that nobody has completed. */
function recoveryCheck(unrecovered: number, dir: string): Check[] {
  if (unrecovered === 0) return [];
  const message = `${plural(unrecovered, 'call')} of processes that died not completed yet`;
  const hint = `complete them, and send what was not sent, with orangebox recover ${dir}`;
  return [{ name: 'recovery', result: 'warning', message, hint }];
}
