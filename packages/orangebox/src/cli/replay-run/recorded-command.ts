/** The command that a run was recorded with, where it may be run again. */
import type { FoundRun } from '@orangebox/replay/process';
import { OrangeboxError } from '@orangebox/schema';
import { hashOfDirectory } from './replay-environment.ts';

/**
 * The recorded command. The recording must know the working directory by the key that is kept beside the recordings of
 * this place. That tells a stray recording, not a forged one: the key says nothing of the arguments.
 *
 * @throws OrangeboxError `OBX_RUN_COMMAND_REFUSED`
 */
export function recordedCommand({ runId, start }: FoundRun, directory: string, cwd: string, name: string): string[] {
  const hint = `name the command: orangebox ${name} -- node app.js`;
  if (start.cwdHash !== hashOfDirectory(directory, cwd)) {
    throw new OrangeboxError('OBX_RUN_COMMAND_REFUSED', `${runId} was not recorded in this directory`, { hint });
  }
  if (start.execPath !== 'node' || start.argv.length === 0) {
    throw new OrangeboxError('OBX_RUN_COMMAND_REFUSED', `${runId} holds no command of node with a file`, { hint });
  }
  return ['node', ...start.argv];
}
