/** `orangebox context`: the named places of the config file, and which are read now. */
import { configPath, readConfigFile } from '../config-file.ts';
import type { CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { findPlaces, shownUrl } from '../places.ts';
import { placeLines } from '../place-lines.ts';
import { escapeLine, safeJson } from '../text/escape.ts';
import { type Column, renderTable } from '../text/table.ts';

interface Row {
  name: string;
  source: string;
  store: string;
  current: boolean;
}

/** Lists the contexts. Values of headers are never shown. */
export async function contexts(context: CommandContext, options: { json?: boolean }): Promise<number> {
  const { terminal } = context;
  const config = await readConfigFile(context);
  const places = await findPlaces(context);
  const rows = [...config.contexts].map(([name, { source = '', store = '' }]): Row => {
    return { name, source: shownUrl(source), store: shownUrl(store), current: name === places.contextName };
  });
  if (options.json === true) {
    const { source, store, local } = places;
    const reads = {
      ...(source === undefined ? {} : { source: { url: shownUrl(source.url), basis: source.basis } }),
      ...(store === undefined ? {} : { store: { url: shownUrl(store.url), basis: store.basis } }),
      local,
    };
    terminal.line(safeJson({ file: config.path, contexts: rows, reads }, 2));
    return EXIT.ok;
  }
  const c = terminal.colors;
  if (rows.length === 0) {
    const path = escapeLine(configPath(context));
    terminal.line(`no contexts in ${path}${config.exists ? '' : ', which is not there'}; one is written as`);
    terminal.line(
      `  ${c.cyan('{"contexts": {"prod": {"source": "https://jaeger.example", "store": "s3://bucket/prefix"}}}')}`,
    );
  } else {
    const columns: Column<Row>[] = [
      { title: '', cell: (row) => (row.current ? '*' : ' '), paint: c.green },
      { title: 'context', cell: ({ name }) => name, paint: c.bold },
      { title: 'source', cell: ({ source }) => source, shrinkTo: 16 },
      { title: 'store', cell: ({ store }) => store, shrinkTo: 16 },
    ];
    for (const line of renderTable(rows, columns, { width: terminal.width, header: c.dim })) terminal.line(line);
  }
  const lines = placeLines(places, terminal);
  if (lines.length > 0) terminal.line();
  for (const line of lines) terminal.line(line);
  return EXIT.ok;
}
