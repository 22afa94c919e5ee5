/** Plain tables for the reports of corpus runs and benchmarks. */

/** Rows of cells as aligned text; the first column left, the others right. */
export function table(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => String(row[column] ?? '').length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          column === 0 ? String(cell ?? '').padEnd(widths[0]) : String(cell ?? '').padStart(widths[column]),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** `1234 of 1240 (99.5 %)`, without the share when it is all. */
export function share(part, whole) {
  if (part === whole) return `${part} of ${whole}`;
  return `${part} of ${whole} (${((100 * part) / Math.max(1, whole)).toFixed(2)} %)`;
}
