/** The environment that a program is replayed in. */
import type { FoundRun } from '@orangebox/replay/process';
import { quotedPath } from '../commands/run.ts';
import type { CliEnv } from '../env.ts';

const WORD = /^[\w.@:-]{0,64}$/;
/**
 * Variables of which a recording may say what they are, and what they may be. Names that lead somewhere or load something are
 * not among them, nor are values that would: a time zone may name a file, and so may what is put behind `.env.`.
 */
const FROM_RECORDING: readonly (readonly [name: RegExp, value: RegExp])[] = [
  [/^TZ$/, /^(?:[A-Za-z0-9_+-]+(?:\/[A-Za-z0-9_+-]+){0,2}|<[+-]?\d{1,4}>-?\d{1,2}(?::\d{2})?)?$/],
  [/^(?:LANG|LANGUAGE|LC_[A-Z]+)$/, WORD],
  [/^NODE_ENV$/, /^[\w-]{0,64}$/],
  [/^(?:COLUMNS|LINES)$/, /^\d{0,6}$/],
  [/^(?:NO_COLOR|FORCE_COLOR|CI)$/, WORD],
];

/** The environment as it is, with the recorded values of variables that are no secrets, and what the preload is told. */
export function replayEnvironment(
  env: CliEnv,
  { found, plan, directory, preload }: { found: FoundRun; plan: string; directory: string; preload: string },
): NodeJS.ProcessEnv {
  const out: NodeJS.ProcessEnv = { ...env.all };
  const formOf = (name: string): RegExp | undefined => FROM_RECORDING.find(([known]) => known.test(name))?.[1];
  for (const name of Object.keys(out)) if (formOf(name)) delete out[name];
  for (const [name, value] of Object.entries(found.start.environment.values)) {
    if (formOf(name)?.test(value)) out[name] = value;
  }
  return {
    ...out,
    NODE_OPTIONS: firstOptions(env.nodeOptions, preload),
    ORANGEBOX_REPLAY_PLAN: plan,
    ORANGEBOX_DIR: directory,
  };
}

/** The preload before all others: none of them may have a way out, or be an Orangebox that records. */
function firstOptions(existing: string | undefined, preload: string): string {
  return [`--require ${quotedPath(preload)}`, ...(existing === undefined ? [] : [existing])].join(' ');
}
