/** The environment that a program is replayed in. */
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FoundRun } from '@orangebox/replay/process';
import { nodeOptions } from '../commands/run.ts';
import type { CliEnv } from '../env.ts';

/** Variables of which a recording may say what they are. Names that lead somewhere or load something are not among them. */
const FROM_RECORDING = /^(?:TZ|LANG|LANGUAGE|LC_[A-Z]+|NODE_ENV|NO_COLOR|FORCE_COLOR|COLUMNS|LINES|CI)$/;
const MAX_VALUE_CHARS = 256;

/** The environment as it is, with the recorded values of variables that are no secrets, and what the preload is told. */
export function replayEnvironment(
  env: CliEnv,
  { found, plan, directory, preload }: { found: FoundRun; plan: string; directory: string; preload: string },
): NodeJS.ProcessEnv {
  const out: NodeJS.ProcessEnv = { ...env.all };
  for (const name of Object.keys(out)) if (FROM_RECORDING.test(name)) delete out[name];
  for (const [name, value] of Object.entries(found.start.environment.values)) {
    if (FROM_RECORDING.test(name) && typeof value === 'string' && value.length <= MAX_VALUE_CHARS) out[name] = value;
  }
  return {
    ...out,
    NODE_OPTIONS: nodeOptions(env.nodeOptions, preload),
    ORANGEBOX_REPLAY_PLAN: plan,
    ORANGEBOX_DIR: directory,
  };
}

/** The keyed hash of a directory's path as recordings of this place have it; undefined without the key. */
export function hashOfDirectory(recordings: string, directory: string): string | undefined {
  try {
    const key = readFileSync(join(recordings, 'environment.key'));
    return createHmac('sha256', key).update(directory).digest('hex').slice(0, 32);
  } catch {
    return undefined;
  }
}
