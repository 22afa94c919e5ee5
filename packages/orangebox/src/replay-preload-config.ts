/** Every environment variable that the preload of a replay reads. `orangebox replay` sets them; people do not. */
import { type NamedSecret, secretsOfEnvironment } from '@orangebox/codec';

/** What they say. */
export interface ReplayPreloadConfig {
  /** `ORANGEBOX_REPLAY_PLAN`: file with what is to be replayed. */
  plan: string | undefined;
  /** `ORANGEBOX_RUN_ENV`: names of variables that a recording may hold. */
  openVariables: string[];
  /** `ORANGEBOX_DIR`: directory of recordings, which has the key of the hashes. */
  directory: string | undefined;
  /** Values of the environment that are credentials by their names. */
  secrets: NamedSecret[];
}

/** Reads them. */
export function readReplayPreload(env: NodeJS.ProcessEnv): ReplayPreloadConfig {
  const open = (env['ORANGEBOX_RUN_ENV'] ?? '').split(',').map((name) => name.trim());
  return {
    plan: env['ORANGEBOX_REPLAY_PLAN'] || undefined,
    openVariables: open.filter((name) => name !== ''),
    directory: env['ORANGEBOX_DIR']?.trim() || undefined,
    secrets: secretsOfEnvironment(env),
  };
}
