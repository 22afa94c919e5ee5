/** `orangebox diff A B`: what two calls differ in. */
import { withViews } from '@orangebox/codec';
import { compare } from '@orangebox/replay';
import { decodeContent } from '@orangebox/store';
import type { CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { loadOne } from '../look-up.ts';
import { openStore } from '../open-store.ts';
import { renderComparison } from '../show/comparison.ts';
import { titleOf } from '../show/header.ts';
import { penFor } from '../show/pen.ts';
import { escapeLine, safeJson } from '../text/escape.ts';

/** Compares two calls; exit code 1 when they are different. */
export async function diff(
  context: CommandContext,
  a: string,
  b: string,
  options: { json?: boolean },
): Promise<number> {
  const { terminal } = context;
  const { store } = await openStore(context, { orEmpty: true });
  try {
    const left = await loadOne(context, a, store);
    const right = await loadOne(context, b, store);
    const comparison = await compare(left.snapshot, right.snapshot);
    if (options.json === true) terminal.line(safeJson(comparison, 2));
    else {
      const c = terminal.colors;
      const title = ({ entry, snapshot }: typeof left): string =>
        `${entry.ref}  ${escapeLine(titleOf(withViews(snapshot, decodeContent)))}`;
      terminal.line(`${c.red('-')} ${title(left)}`);
      terminal.line(`${c.green('+')} ${title(right)}`);
      terminal.line();
      renderComparison(penFor(terminal), comparison);
    }
    return comparison.verdict === 'different' ? EXIT.finding : EXIT.ok;
  } finally {
    await store.close();
  }
}
