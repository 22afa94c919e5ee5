/** Tables and wrapped text for a terminal of a given width. Cells are plain text, escaped by the caller. */
import stringWidth from 'string-width';

/** One column of a table. */
export interface Column<Row> {
  title: string;
  cell: (row: Row) => string;
  align?: 'right';
  /** Narrowest the column may be cut to; a column without it keeps its width. */
  shrinkTo?: number;
  /** Left out, lowest first, where even shrunk columns do not fit. */
  dropFirst?: number;
  /** Colours a padded cell. */
  paint?: (text: string, row: Row) => string;
}

/** Lays rows out in columns two spaces apart; columns in which no row has anything are left out. */
export function renderTable<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  options: { width: number; header?: (text: string) => string },
): string[] {
  let filled = columns
    .map((column) => ({ column, cells: rows.map((row) => column.cell(row)) }))
    .filter(({ cells }) => cells.some((cell) => cell !== ''))
    .map((entry) => ({
      ...entry,
      width: entry.cells.reduce((w, c) => Math.max(w, stringWidth(c)), stringWidth(entry.column.title)),
    }));
  for (;;) {
    const least = filled.reduce((sum, { column, width }) => sum + Math.min(width, column.shrinkTo ?? width) + 2, -2);
    const orders = filled.flatMap(({ column }) => column.dropFirst ?? []);
    if (least <= options.width || orders.length === 0) break;
    const next = Math.min(...orders);
    filled = filled.filter(({ column }) => column.dropFirst !== next);
  }
  const widths = filled.map(({ width }) => width);
  shrink(
    widths,
    filled.map(({ column }) => column.shrinkTo),
    options.width - 2 * (filled.length - 1),
  );
  const place = (text: string, index: number): string => {
    const width = widths[index] ?? 0;
    return filled[index]?.column.align === 'right'
      ? padStart(cut(text, width), width)
      : padEnd(cut(text, width), width);
  };
  const lines = [
    (options.header ?? ((t) => t))(
      filled
        .map(({ column }, i) => place(column.title, i))
        .join('  ')
        .trimEnd(),
    ),
  ];
  for (const [r, row] of rows.entries()) {
    const cells = filled.map(({ column, cells: texts }, i) => {
      const text = place(texts[r] ?? '', i);
      return column.paint ? column.paint(text, row) : text;
    });
    lines.push(cells.join('  ').trimEnd());
  }
  return lines;
}

/** Takes width from the widest columns that may shrink until the sum fits. */
function shrink(widths: number[], minimums: (number | undefined)[], available: number): void {
  let excess = widths.reduce((a, b) => a + b, 0) - available;
  while (excess > 0) {
    let widest = -1;
    for (const [i, width] of widths.entries()) {
      const minimum = minimums[i];
      if (minimum !== undefined && width > minimum && (widest < 0 || width > (widths[widest] ?? 0))) widest = i;
    }
    if (widest < 0) return;
    widths[widest] = (widths[widest] ?? 0) - 1;
    excess--;
  }
}

/** Cuts text to a display width, with an ellipsis where something is missing. */
export function cut(text: string, width: number): string {
  if (text.length <= width && isAscii(text)) return text;
  if (stringWidth(text) <= width) return text;
  let out = '';
  let used = 0;
  for (const { segment } of graphemes.segment(text)) {
    const w = stringWidth(segment);
    if (used + w > width - 1) break;
    out += segment;
    used += w;
  }
  return `${out}…`;
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

function isAscii(text: string): boolean {
  return !/[^ -~]/.test(text);
}

/** Pads to a display width on the right. */
export function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - stringWidth(text)));
}

/** Pads to a display width on the left. */
export function padStart(text: string, width: number): string {
  return ' '.repeat(Math.max(0, width - stringWidth(text))) + text;
}
