/** The wire part of the corpus run: every exchange through `fetch` and `http.request`, snapshots against the server's log. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { decodeBody } from '@orangebox/codec';
import { aspects, compareExchange } from './compare.mjs';
import { bodyBytes } from './load.mjs';
import { EXCHANGE_HEADER, isMadeUp } from './exchange.mjs';
import { startCorpusServer } from './server.mjs';
import { callSnapshotsIn } from './snapshots.mjs';
import { runProgram } from './spawn.mjs';
import { share, table } from './table.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const clients = { fetch: 'undici', http: 'http' };

const numberOf = (exchange) => Number(exchange.request.headers.find(([name]) => name === EXCHANGE_HEADER)?.[1] ?? -1);

/** Results of one client: per exchange number the comparison, or why there is none. */
async function runClient(client, exchanges, directory, limit, node) {
  const server = await startCorpusServer(exchanges);
  const store = mkdtempSync(join(tmpdir(), 'orangebox-corpus-'));
  try {
    const program = await runProgram(
      join(here, 'wire-client.mjs'),
      [server.url, client, directory ?? '', String(limit)],
      {
        env: { ORANGEBOX_DIR: store, ORANGEBOX_INCLUDE: '*', ORANGEBOX_DIR_BYTES: String(4 * 2 ** 30) },
        ...(node && { node }),
      },
    );
    if (program.code !== 0) throw new Error(`the program ended with ${program.code}: ${program.stderr}`);
    const noticed = JSON.parse(program.stdout.trim().split('\n').at(-1) ?? '{}');
    const entries = new Map(server.log.map((entry) => [entry.n, entry]));
    const results = new Map();
    const extra = [];
    for await (const { snapshot } of callSnapshotsIn(store)) {
      for (const exchange of snapshot.exchanges) {
        const n = numberOf(exchange);
        const entry = entries.get(n);
        if (entry === undefined || results.has(n) || exchange.client !== clients[client]) extra.push(snapshot.id);
        else {
          const decoded = bodyBytes(exchanges[n].response);
          results.set(n, {
            kind: snapshot.kind,
            fidelity: snapshot.fidelity.level,
            ending: exchange.ending,
            ...compareExchange(exchange, entry, decodeBody, decoded),
          });
        }
      }
    }
    return { client, results, extra, noticed, stderr: program.stderr, milliseconds: program.milliseconds };
  } finally {
    await server.close();
    rmSync(store, { recursive: true, force: true });
  }
}

const isEqual = (result) =>
  result !== undefined &&
  result.fidelity === 'exact' &&
  result.ending === 'complete' &&
  aspects.every((aspect) => result[aspect] !== 'different');

function summarise({ client, results, extra, noticed, stderr, milliseconds }, exchanges) {
  const group = (list) => ({
    exchanges: list.length,
    snapshots: list.filter((e) => results.has(e.n)).length,
    ...Object.fromEntries(
      aspects.map((aspect) => [
        aspect,
        list.filter((e) => (results.get(e.n)?.[aspect] ?? 'different') !== 'different').length,
      ]),
    ),
    equal: list.filter((e) => isEqual(results.get(e.n))).length,
  });
  return {
    client,
    recorded: group(exchanges.filter((e) => !isMadeUp(e))),
    madeUp: group(exchanges.filter(isMadeUp)),
    credentialsReplacedInBodies: exchanges.filter((e) => {
      const result = results.get(e.n);
      return result?.['request bytes'] === 'masked' || result?.['response bytes'] === 'masked';
    }).length,
    asLlm: exchanges.filter((e) => results.get(e.n)?.kind === 'llm').length,
    unexpectedSnapshots: extra.length,
    programNoticed: noticed.wrong,
    programWroteToStderr: stderr,
    seconds: Number((milliseconds / 1000).toFixed(1)),
    failures: exchanges
      .filter((e) => !isEqual(results.get(e.n)))
      .map((e) => ({ id: e.id, ...(results.get(e.n) ?? { missing: true }) })),
  };
}

/** Runs both clients, on the given Node.js binary or this one; gives the figures. */
export async function runWire(exchanges, directory, limit, node) {
  const figures = [];
  for (const client of Object.keys(clients)) {
    const run = await runClient(client, exchanges, directory, limit, node);
    figures.push(summarise(run, limit > 0 ? exchanges.slice(0, limit) : exchanges));
  }
  return figures;
}

/** The figures as a table. */
export function wireTable(figures) {
  const columns = figures.flatMap((f) => [
    { title: `${f.client}, recorded`, group: f.recorded },
    { title: `${f.client}, made-up request`, group: f.madeUp },
  ]);
  const row = (label, key) => [label, ...columns.map(({ group }) => share(group[key], group.exchanges))];
  return table([
    ['wire', ...columns.map(({ title }) => title)],
    row('snapshots', 'snapshots'),
    ...aspects.map((aspect) => row(`${aspect} equal`, aspect)),
    row('all equal', 'equal'),
  ]);
}

/** Whether everything that was sent is there and equal, and the program noticed nothing. */
export const wirePassed = (f) =>
  f.failures.length === 0 &&
  f.unexpectedSnapshots === 0 &&
  f.programNoticed.length === 0 &&
  f.programWroteToStderr === '';
