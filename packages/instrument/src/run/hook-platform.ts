/** All hooks of run mode in the platform, for a recording and for a replay alike. */
import { syncBuiltinESMExports } from 'node:module';
import type { CallSites } from './call-site.ts';
import { hookChildren } from './child-hooks.ts';
import { hookClocks } from './clock-hooks.ts';
import { hookHost } from './host-hooks.ts';
import { hookInput } from './input-hooks.ts';
import type { ChildPort, DrawPort, InputPort, ThreadPort, TimerPort, Undo, WorkPort } from './ports.ts';
import { hookRandom } from './random-hooks.ts';
import { undoAll } from './replace.ts';
import { hookThreads } from './thread-hooks.ts';
import { hookTimers } from './timer-hooks.ts';
import { hookWork } from './work-hooks.ts';

/** Who stands behind the hooks. */
export interface PlatformHooks {
  draws: DrawPort;
  timers: TimerPort;
  children: ChildPort;
  /** Without it, what comes of other threads comes when it comes. */
  threads?: ThreadPort;
  /** Without it, work that the platform does beside the program is done when it is done. */
  work?: WorkPort;
  /** Without it, standard input comes when it comes. */
  input?: InputPort | undefined;
  sites: CallSites;
  /** What child processes are told: whose they are. */
  runId?: string;
}

/** Puts them in place, for ES modules too. */
export function hookPlatform({ draws, timers, children, threads, input, work, sites, runId }: PlatformHooks): Undo {
  const undo = undoAll([
    hookClocks(draws, sites),
    hookRandom(draws, sites),
    hookHost(draws, sites),
    hookTimers(timers, sites),
    hookChildren(children, runId),
    ...(input ? [hookInput(input)] : []),
    ...(threads ? [hookThreads(threads)] : []),
    ...(work ? [hookWork(work, sites)] : []),
  ]);
  syncBuiltinESMExports();
  return () => {
    undo();
    syncBuiltinESMExports();
  };
}
