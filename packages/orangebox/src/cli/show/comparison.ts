/** Differences between two calls, in words. */
import type { Comparison } from '@orangebox/codec';
import type { Json } from '@orangebox/schema';
import { escapeLine, safeJson } from '../text/escape.ts';
import { cut } from '../text/table.ts';
import type { Pen } from './pen.ts';

const MAX_SHOWN = 40;
/** Characters before the first difference that are shown to find the place. */
const CONTEXT = 24;

/** Writes the verdict and, weightiest first, where the two differ: `-` is the left call, `+` the right one. */
export function renderComparison(pen: Pen, comparison: Comparison, indent = ''): void {
  const c = pen.colors;
  const { verdict, differences } = comparison;
  const paint = verdict === 'different' ? c.red : verdict === 'equivalent' ? c.yellow : c.green;
  pen.line(`${indent}${paint('●')} ${c.bold(paint(verdict))}  ${c.dim(VERDICT_WORDS[verdict])}`);
  const shown = pen.width === undefined ? differences : differences.slice(0, MAX_SHOWN);
  const room = pen.width === undefined ? undefined : Math.max(20, pen.width - indent.length - 6);
  for (const difference of shown) {
    const [left, right] = sides(difference.left, difference.right, room);
    pen.line(`${indent}  ${c.cyan(escapeLine(difference.path))}`);
    pen.line(`${indent}    ${c.red(`- ${left}`)}`);
    pen.line(`${indent}    ${c.green(`+ ${right}`)}`);
  }
  if (differences.length > shown.length) {
    pen.line(c.dim(`${indent}  … ${differences.length - shown.length} more (--json has all)`));
  }
}

const VERDICT_WORDS: { readonly [verdict in Comparison['verdict']]: string } = {
  identical: 'nothing differs but ids, times and fingerprints',
  equivalent: 'same tools, arguments and structure; the wording differs',
  different: 'tools, arguments or structure differ',
};

/** Both values on a line each; long ones from shortly before the place where they part. */
function sides(left: Json | undefined, right: Json | undefined, room: number | undefined): [string, string] {
  const texts = [textOf(left), textOf(right)] as const;
  if (room === undefined || texts.every((text) => text.length <= room)) return [...texts];
  let same = 0;
  while (same < texts[0].length && texts[0][same] === texts[1][same]) same++;
  const from = Math.max(0, same - CONTEXT);
  const place = (text: string): string => cut(from > 0 ? `…${text.slice(from)}` : text, room);
  return [place(texts[0]), place(texts[1])];
}

function textOf(json: Json | undefined): string {
  if (json === undefined) return '(not there)';
  return typeof json === 'string' ? escapeLine(json) : safeJson(json);
}
