/** The rows of the table: each case of each file, once for each client it runs with. */
import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { CLIENTS } from '../program/send.mjs';

const folder = fileURLToPath(new URL('../cases', import.meta.url));

/**
 * Every row, in the order of the files.
 * @returns `{id, group, file, name, client, testCase}` each
 */
export async function loadRows() {
  const rows = [];
  for (const group of ['sdk', 'transport', 'programs']) {
    for (const entry of readdirSync(join(folder, group)).sort()) {
      if (!entry.endsWith('.mjs')) continue;
      const file = pathToFileURL(join(folder, group, entry)).href;
      const { cases } = await import(file);
      for (const [name, testCase] of Object.entries(cases)) {
        for (const client of testCase.clients === 'all' ? CLIENTS : (testCase.clients ?? [undefined])) {
          const of = client === undefined ? '' : ` [${client}]`;
          rows.push({ id: `${basename(entry, '.mjs')}: ${name}${of}`, group, file, name, client, testCase });
        }
      }
    }
  }
  return rows;
}
