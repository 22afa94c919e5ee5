/** Differences between two calls, in words. */
import type { Comparison } from '@orangebox/codec';
import type { Json } from '@orangebox/schema';
import { escapeLine, safeJson } from '../text/escape.ts';
import { cut } from '../text/table.ts';
import type { Pen } from './pen.ts';

const MAX_SHOWN = 40;

/** Writes the verdict and, most important first, where the two differ. */
export function renderComparison(
  pen: Pen,
  comparison: Comparison,
  options: { left: string; right: string; indent?: string },
): void {
  const c = pen.colors;
  const indent = options.indent ?? '';
  const paint = comparison.verdict === 'different' ? c.red : comparison.verdict === 'equivalent' ? c.yellow : c.green;
  pen.line(`${indent}${paint('●')} ${c.bold(paint(comparison.verdict))}  ${c.dim(VERDICT_WORDS[comparison.verdict])}`);
  const { differences } = comparison;
  const shown = pen.width === undefined ? differences : differences.slice(0, MAX_SHOWN);
  for (const difference of shown) {
    pen.line(`${indent}  ${c.cyan(escapeLine(difference.path))}`);
    pen.line(`${indent}    ${c.red(`- ${value(pen, difference.left, indent)}`)}  ${c.dim(escapeLine(options.left))}`);
    pen.line(
      `${indent}    ${c.green(`+ ${value(pen, difference.right, indent)}`)}  ${c.dim(escapeLine(options.right))}`,
    );
  }
  if (differences.length > shown.length)
    pen.line(c.dim(`${indent}  … ${differences.length - shown.length} more (--json has all)`));
}

const VERDICT_WORDS: { readonly [verdict in Comparison['verdict']]: string } = {
  identical: 'nothing differs but ids, times and fingerprints',
  equivalent: 'same tools, arguments and structure; the wording differs',
  different: 'tools, arguments or structure differ',
};

function value(pen: Pen, json: Json | undefined, indent: string): string {
  const text = json === undefined ? '(not there)' : typeof json === 'string' ? escapeLine(json) : safeJson(json);
  return pen.width === undefined ? text : cut(text, Math.max(20, pen.width - indent.length - 30));
}
