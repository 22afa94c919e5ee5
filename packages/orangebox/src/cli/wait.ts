/** Waiting for a payload that a span promises and that is not in the store yet. */
import { setTimeout as pause } from 'node:timers/promises';
import { OrangeboxError } from '@orangebox/schema';
import type { CommandContext } from './context.ts';
import { parseDuration } from './parse-options.ts';
import { withProgress } from './progress.ts';

const DEFAULT_WAIT_MS = 60_000;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;

/** Milliseconds of `--wait [duration]`; undefined when it was not given. */
export function waitOf(option: string | boolean | undefined): number | undefined {
  if (option === undefined || option === false) return undefined;
  return option === true ? DEFAULT_WAIT_MS : parseDuration(option, '--wait');
}

/** Whether an error says that something is missing that may still come. */
export function isOnItsWay(error: unknown): error is OrangeboxError {
  return error instanceof OrangeboxError && /^OBX_SNAPSHOT_(?:NOT_ARRIVED|INCOMPLETE)$/.test(error.code);
}

/**
 * Tries until it works, with growing pauses, for `waitMs` at most; without `waitMs` once. What is not on its way is
 * thrown at once, and at the end the last error.
 */
export async function waitFor<T>(
  { terminal }: Pick<CommandContext, 'terminal'>,
  waitMs: number | undefined,
  attempt: () => Promise<T>,
  mayCome: (error: unknown) => boolean,
): Promise<T> {
  if (waitMs === undefined) return attempt();
  const endMs = performance.now() + waitMs;
  const work = async (): Promise<T> => {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 1.6, LONGEST_PAUSE_MS)) {
      try {
        return await attempt();
      } catch (error) {
        const leftMs = endMs - performance.now();
        // A timer may be early by a part of a millisecond.
        if (!mayCome(error) || leftMs < 1) throw error;
        await pause(Math.min(pauseMs, leftMs));
      }
    }
  };
  return withProgress(terminal, () => 'waiting for it to arrive', work());
}
