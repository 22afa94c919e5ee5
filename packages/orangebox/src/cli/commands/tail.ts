/** `orangebox tail`: calls as they arrive. */
import { setTimeout as pause } from 'node:timers/promises';
import type { OrangeboxError } from '@orangebox/schema';
import { ownCalls, type SnapshotStore, type StoredEntry } from '@orangebox/store';
import type { CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { type FilterOptions, filterFrom } from '../filter-options.ts';
import { type Opened, openStore } from '../open-store.ts';
import { parseCount, usage } from '../parse-options.ts';
import { isPlaceFault } from '../place-faults.ts';
import { idOf, StoreFollower } from '../tail/follow-store.ts';
import { HeldCalls } from '../tail/held-calls.ts';
import { SeenCalls } from '../tail/seen-calls.ts';
import { segmentStamp } from '../tail/segment-stamp.ts';
import { writeEntry } from '../tail/write-entry.ts';
import { escapeLine } from '../text/escape.ts';

/** Options of `tail`. */
export interface TailOptions extends FilterOptions {
  number?: string;
  running?: boolean;
  json?: boolean;
}

const DEFAULT_COUNT = 10;
const LOCAL_PAUSE_MS = 250;
const REMOTE_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 30_000;
/** A promised call is shown as stored when another place has it within this time. */
const PROMISED_MS = 5_000;
const JUST_NOW_MS = 30_000;
const LOCAL_WINDOW_MS = 60_000;
/** What comes from elsewhere is sent in batches, and lists calls by their start. */
const REMOTE_WINDOW_MS = 15 * 60_000;

/** Shows calls of every place when they end, until it is interrupted. */
export async function tail(context: CommandContext, options: TailOptions): Promise<number> {
  const { terminal } = context;
  if (options.until !== undefined) throw usage('tail has no end, so --until says nothing', 'orangebox ls --until TIME');
  const count = options.number === undefined ? DEFAULT_COUNT : parseCount(options.number, '-n', 0, 100_000);
  const opened = await openStore(context, { orNew: true });
  const stop = interrupted();
  try {
    const filter = ownCalls(filterFrom(options, context.nowMs));
    const followers = opened.parts.map((store) => ({ store, follower: followerOf(store, opened, filter) }));
    // What one place has shown may come from another too.
    const shown = new SeenCalls();
    const put = (entry: StoredEntry): void => {
      if (!shown.add(`${idOf(entry)} ${entry.status === 'open'}`, entry)) return;
      writeEntry(terminal, entry, options.json === true);
      shown.forgetBefore(Math.min(...followers.map(({ follower }) => follower.sinceUnixMs)));
    };
    // With one place there is no other that could have what is promised.
    const held = new HeldCalls({ waitMs: followers.length > 1 ? PROMISED_MS : 0, write: put });
    const began = await Promise.all(followers.map(async ({ follower }) => withFault(() => follower.begin(count))));
    const faults = began.flatMap(({ fault }) => fault ?? []);
    if (faults.length === followers.length && faults[0] !== undefined) throw faults[0];
    if (terminal.errorInteractive)
      terminal.note(terminal.errorColors.dim(`following ${escapeLine(placesOf(opened))}; Ctrl-C ends it`));
    const newest = newestOf(
      began.flatMap(({ value = [] }) => value),
      count,
    );
    // What ended just now may be on its way to the store; what did before is not.
    for (const entry of newest) (endedBefore(entry, context.nowMs - JUST_NOW_MS) ? put : held.offer.bind(held))(entry);
    await Promise.all(
      followers.map(async ({ store, follower }, i) => {
        const write = (entry: StoredEntry): void => {
          const isOld =
            entry.status === 'promised' &&
            followers.some((other) => other.follower !== follower && other.follower.knows(idOf(entry)));
          // Another place had it before this one: it was shown, or there when the following began.
          if (!isOld) held.offer(entry);
        };
        const known = began[i]?.fault;
        if (known !== undefined) noteFault(context, known);
        await follow(context, store, follower, {
          known,
          signal: stop.signal,
          running: options.running === true,
          write,
        });
      }),
    );
    held.end();
  } finally {
    stop.release();
    await opened.store.close();
  }
  return EXIT.ok;
}

/** The newest of what all places gave, oldest first; of a call in several the entry that is more than a promise. */
function newestOf(entries: readonly StoredEntry[], count: number): StoredEntry[] {
  const first = new Map<string, StoredEntry>();
  for (const entry of entries) {
    const known = first.get(idOf(entry));
    if (known === undefined || known.status === 'promised') first.set(idOf(entry), entry);
  }
  return count === 0 ? [] : [...first.values()].sort(byStart).slice(-count);
}

function endedBefore({ time }: StoredEntry, unixMs: number): boolean {
  return Number(BigInt(time.endUnixNano) / 1_000_000n) < unixMs;
}

/** What is followed, in words; local recordings that are not there yet only where there is nothing else. */
function placesOf({ parts, located }: Opened): string {
  const there = parts.filter((store) => store.kind !== 'segments' || located.exists);
  if (there.length > 0) return there.map((store) => store.location).join(' and ');
  return `${located.dir}, which is not there yet`;
}

function followerOf(store: SnapshotStore, opened: Opened, filter: ReturnType<typeof filterFrom>): StoreFollower {
  const isLocal = store.kind === 'segments';
  return new StoreFollower(store, {
    filter,
    nowMs: Date.now,
    windowMs: isLocal ? LOCAL_WINDOW_MS : REMOTE_WINDOW_MS,
    ...(isLocal ? { stamp: () => segmentStamp(opened.located.dir) } : {}),
  });
}

interface FollowTask {
  /** A fault that was told already. */
  known: OrangeboxError | undefined;
  signal: AbortSignal;
  running: boolean;
  write: (entry: StoredEntry) => void;
}

/** Looks until interrupted. A place that cannot be asked is told once and asked again later, then less and less often. */
async function follow(
  context: CommandContext,
  store: SnapshotStore,
  follower: StoreFollower,
  { known, signal, running, write }: FollowTask,
): Promise<void> {
  const shortMs = store.kind === 'segments' ? LOCAL_PAUSE_MS : REMOTE_PAUSE_MS;
  let told = known?.message;
  let pauseMs = shortMs;
  for (;;) {
    await pause(pauseMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    const startedMs = performance.now();
    const { value: look, fault } = await withFault(() => follower.look());
    if (fault !== undefined) {
      if (told !== fault.message) noteFault(context, fault);
      told = fault.message;
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      continue;
    }
    if (told !== undefined) context.terminal.note(`${escapeLine(store.location)} answers again`);
    told = undefined;
    // A large store is not asked more than a quarter of the time.
    pauseMs = Math.max(shortMs, Math.min((performance.now() - startedMs) * 3, LONGEST_PAUSE_MS));
    if (running) for (const entry of look?.begun ?? []) write(entry);
    for (const entry of look?.ended ?? []) write(entry);
  }
}

async function withFault<T>(work: () => Promise<T>): Promise<{ value?: T; fault?: OrangeboxError }> {
  try {
    return { value: await work() };
  } catch (error) {
    if (isPlaceFault(error)) return { fault: error };
    throw error;
  }
}

function byStart(a: StoredEntry, b: StoredEntry): number {
  const [left, right] = [BigInt(a.time.startUnixNano), BigInt(b.time.startUnixNano)];
  return left < right ? -1 : left > right ? 1 : 0;
}

function noteFault({ terminal }: CommandContext, fault: OrangeboxError): void {
  terminal.note(terminal.errorColors.yellow(escapeLine(`${fault.message} [${fault.code}]; trying again`)));
}

function interrupted(): { signal: AbortSignal; release: () => void } {
  const controller = new AbortController();
  const stop = (): void => controller.abort();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, stop);
  return {
    signal: controller.signal,
    release: () => {
      for (const name of ['SIGINT', 'SIGTERM'] as const) process.off(name, stop);
    },
  };
}
