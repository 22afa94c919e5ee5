/** Questions before something is spent or deleted. */
import { createInterface } from 'node:readline/promises';
import { OrangeboxError } from '@orangebox/schema';
import type { CommandContext } from './context.ts';

/** Asks on standard error; only `y` and `yes` agree. Off a terminal nobody can answer, so `--yes` is required. */
export async function confirm(context: CommandContext, question: string, what: string): Promise<boolean> {
  if (!context.terminal.canAsk) {
    throw new OrangeboxError('OBX_CONFIRM_REQUIRED', `${what} needs a yes, and there is no terminal to ask on`, {
      hint: 'add --yes',
    });
  }
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await Promise.race([
      lines.question(`${question} [y/N] `),
      new Promise<string>((resolve) => lines.once('close', () => resolve(''))),
    ]);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}
