/** The command that a run was recorded with, where it may be run again. */
import { realpathSync, statSync } from 'node:fs';
import { resolve, sep } from 'node:path';
import { signCommand } from '@orangebox/instrument/run';
import type { FoundRun } from '@orangebox/replay/process';
import { OrangeboxError } from '@orangebox/schema';

/** Ways in which Node.js completes the name of an entry file. */
const EXTENSIONS = ['', '.js', '.mjs', '.cjs'];
const SECRET_TOKEN = '{{secret:';

/**
 * The recorded command. The recording must hold the signature of it, for this directory, by the key that is kept beside the
 * recordings of this place and in none of them; and the program must lie in this directory.
 *
 * @throws OrangeboxError `OBX_RUN_COMMAND_REFUSED`
 */
export function recordedCommand({ runId, start }: FoundRun, directory: string, cwd: string, name: string): string[] {
  const { execPath, argv, execArgv } = start;
  const refused = (why: string): OrangeboxError =>
    new OrangeboxError('OBX_RUN_COMMAND_REFUSED', `${runId} ${why}`, {
      hint: `name the command: orangebox ${name} -- node app.js`,
    });
  if ([...execArgv, ...argv].some((word) => word.includes(SECRET_TOKEN))) {
    throw refused('was given a secret on its command line, which is not on record');
  }
  if (start.commandHash === undefined) throw refused('holds no signature of its command');
  const [entry] = argv;
  if (execPath !== 'node' || entry === undefined || entry.startsWith('-')) {
    throw refused('holds no command of node with a file');
  }
  if (start.commandHash !== signCommand(directory, { runId, cwd, execPath, argv, execArgv })) {
    throw refused('was not recorded in this directory by you');
  }
  if (!isBelow(entry, cwd)) throw refused('ran a file that is not in this directory');
  return ['node', ...execArgv, ...argv];
}

/** Whether a file lies in a directory, wherever links lead. */
function isBelow(file: string, directory: string): boolean {
  for (const extension of EXTENSIONS) {
    try {
      const path = realpathSync(resolve(directory, `${file}${extension}`));
      return statSync(path).isFile() && path.startsWith(`${realpathSync(directory).replace(/[/\\]$/, '')}${sep}`);
    } catch {
      // Not this one.
    }
  }
  return false;
}
