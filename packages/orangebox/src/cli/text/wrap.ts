/** Paragraphs wrapped and indented to the terminal's width. */
import wrapAnsi from 'wrap-ansi';

/**
 * Wraps text to `width` columns, each line behind `indent`. Without a width (not a terminal) lines stay as they are.
 * Leading blanks of a line are kept, so code and pretty JSON keep their shape.
 */
export function indentText(text: string, indent: string, width: number | undefined): string {
  const lines = text.split('\n');
  const wrapped =
    width === undefined
      ? lines
      : lines.flatMap((line) => {
          const room = Math.max(20, width - indent.length);
          return line.length <= room / 2 ? [line] : wrapAnsi(line, room, { hard: true, trim: false }).split('\n');
        });
  return wrapped.map((line) => (line === '' ? '' : indent + line)).join('\n');
}
