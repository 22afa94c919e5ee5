/** The table of rows by versions, and what stands below it. */

const marks = { equal: '=', named: 'named', failed: 'DIFFERS', skipped: '-' };

/** The table as text: `=` equal, `named` equal but for what is named below, `-` not for this version. */
export function formatTable({ versions, rows }) {
  const width = Math.max(...rows.map(({ id }) => id.length), 4);
  const lines = [`${'case'.padEnd(width)}  ${versions.map((v) => v.padEnd(9)).join(' ')}`.trimEnd()];
  let group;
  for (const row of rows) {
    if (row.group !== group) lines.push('', row.group);
    group = row.group;
    lines.push(
      `${row.id.padEnd(width)}  ${row.cells.map(({ result }) => marks[result].padEnd(9)).join(' ')}`.trimEnd(),
    );
  }
  const named = rows.flatMap(({ id, cells }) =>
    [...new Set(cells.flatMap((c) => c.named))].map((why) => `${id}: ${why}`),
  );
  if (named.length > 0) lines.push('', 'named:', ...named.map((line) => `  ${line}`));
  const failed = rows.flatMap(({ id, cells }) =>
    cells.flatMap(({ failures }, i) => failures.map((failure) => `${id}, Node.js ${versions[i]}: ${failure}`)),
  );
  if (failed.length > 0) lines.push('', 'deviations:', ...failed.map((line) => `  ${line}`));
  return lines.join('\n');
}

/** How many cells passed, failed and were not for their version. */
export function countCells({ rows }) {
  const results = rows.flatMap(({ cells }) => cells.map(({ result }) => result));
  const count = (...names) => results.filter((result) => names.includes(result)).length;
  return { passed: count('equal', 'named'), failed: count('failed'), skipped: count('skipped') };
}
