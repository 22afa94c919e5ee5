/** Blocks of recorded text: escaped, cut to a bearable length, wrapped, indented. */
import { escapeText } from '../text/escape.ts';
import { formatCount } from '../text/format.ts';
import { indentText } from '../text/wrap.ts';
import type { Pen } from './pen.ts';

/** Writes a text behind an indent; `paint` colours each line. */
export function writeText(pen: Pen, text: string, indent: string, paint: (line: string) => string = (l) => l): void {
  const cutAt = pen.maxText;
  const shown = text.length > cutAt ? text.slice(0, cutAt) : text;
  const block = indentText(escapeText(shown).trimEnd(), indent, pen.width);
  for (const line of block.split('\n')) pen.line(line === '' ? '' : paint(line));
  if (text.length > cutAt) {
    pen.line(`${indent}${pen.colors.dim(`… ${formatCount(text.length - cutAt)} more characters (--all shows them)`)}`);
  }
}
