/** The recorded command, shown and agreed to before it is run. */
import type { FoundRun } from '@orangebox/replay/process';
import { confirm } from '../ask.ts';
import type { CommandContext } from '../context.ts';
import { escapeLine } from '../text/escape.ts';
import { recordedCommand } from './recorded-command.ts';

/** Undefined where it was not agreed to. `name`: the command's own, for a hint. @throws `OBX_RUN_COMMAND_REFUSED` */
export async function agreedCommand(
  context: CommandContext,
  { found, directory, name, yes }: { found: FoundRun; directory: string; name: string; yes: boolean | undefined },
): Promise<string[] | undefined> {
  const command = recordedCommand(found, directory, context.cwd, name);
  if (yes === true) return command;
  const agreed = await confirm(context, `run ${command.map(escapeLine).join(' ')}?`, 'running a recorded command');
  return agreed ? command : undefined;
}
