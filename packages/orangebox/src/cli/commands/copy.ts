/** `orangebox copy SRC DST`: recordings from one store to another. */
import type { CommandContext } from '../context.ts';
import { usage } from '../parse-options.ts';

/** Copies. */
export async function copy(_context: CommandContext, _src: string, _dst: string, _options: object): Promise<number> {
  throw usage('copy is not there yet', '');
}
