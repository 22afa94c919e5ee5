/** `orangebox open [REF]`: calls as plain pages on loopback, where links in a trace UI point. */
import { spawn } from 'node:child_process';
import { type LendStore, SNAPSHOT_PAGE_PORT, startSnapshotPage } from '@orangebox/server';
import type { ResolvedReference, SnapshotStore } from '@orangebox/store';
import type { CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { lendBeside, LentStore } from '../lent-store.ts';
import { lookUp } from '../look-up.ts';
import { openStore } from '../open-store.ts';
import { parseCount } from '../parse-options.ts';
import { shownUrl } from '../places.ts';
import { stopSignal } from '../stop-signal.ts';
import { escapeLine } from '../text/escape.ts';

/** Options of `open`. */
export interface OpenOptions {
  port?: string;
  /** False with `--no-browser`. */
  browser?: boolean;
}

/** What a store remembers of faults and listings is forgotten after this. */
const STORE_MAX_AGE_MS = 20_000;

/** Serves the pages until it is told to stop. */
export async function open(
  context: CommandContext,
  reference: string | undefined,
  options: OpenOptions,
): Promise<number> {
  const port = options.port === undefined ? SNAPSHOT_PAGE_PORT : parseCount(options.port, '--port', 0, 65535);
  const opened = async (): Promise<SnapshotStore> => (await openStore(context, { orEmpty: true })).store;
  const first = await opened();
  const resolved = reference === undefined ? undefined : await lookUp(context, reference, first);
  // A file or a pasted address has a store of its own; links to everything else work all the same.
  const own = resolved === undefined || resolved.store === first ? undefined : resolved.store;
  const lent = new LentStore(opened, STORE_MAX_AGE_MS);
  // What it has of its own may read from the first one.
  if (own === undefined) await first.close();
  try {
    await serve(context, port, lendBeside(own, lent), resolved === undefined ? '' : pathOf(resolved), options);
  } finally {
    await lent.close();
    if (own !== undefined) for (const store of [own, first]) await store.close();
  }
  return EXIT.ok;
}

async function serve(
  { terminal, ...context }: CommandContext,
  port: number,
  store: LendStore,
  path: string,
  { browser }: OpenOptions,
): Promise<void> {
  const page = await startSnapshotPage({
    store,
    port,
    words: { command: terminal.commandName, options: placeFlags(context) },
    onFault: (error) => terminal.note(escapeLine(`fault: ${error instanceof Error ? error.message : String(error)}`)),
  });
  // Who reads the address may end it at once.
  const ended = stopSignal();
  const url = page.url + path;
  terminal.line(url);
  if (terminal.errorInteractive)
    terminal.note('pages of recorded calls, on this machine only; Ctrl-C ends it. Links in a trace UI work meanwhile.');
  if (terminal.interactive && browser !== false) openBrowser(url);
  await ended;
  await page.stop();
}

/** The page of what a reference names: a call, or the trace of its first one. */
function pathOf({ entries }: ResolvedReference): string {
  const [first] = entries;
  if (first === undefined) return '/';
  const { traceId, spanId } = first.trace;
  return entries.length === 1 ? `/t/${traceId}/${spanId}` : `/t/${traceId}`;
}

/** The flags that said where to read from, for the commands that the page names. Credentials in addresses are left out. */
function placeFlags({ places, dir }: Pick<CommandContext, 'places' | 'dir'>): string {
  const given: [flag: string, value: string | undefined][] = [
    ['--dir', dir],
    ['--context', places.context],
    ['--source', places.source && shownUrl(places.source)],
    ['--store', places.store && shownUrl(places.store)],
  ];
  return given.flatMap(([flag, value]) => (value === undefined ? [] : `${flag} ${quoteWord(value)}`)).join(' ');
}

function quoteWord(word: string): string {
  return /^[A-Za-z0-9_.:@/+=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Opens the address in the browser of the person at the terminal; where that does not work, it stands there to be clicked. */
function openBrowser(url: string): void {
  const [command, ...words] =
    process.platform === 'darwin'
      ? ['open', url]
      : process.platform === 'win32'
        ? ['rundll32', 'url.dll,FileProtocolHandler', url]
        : ['xdg-open', url];
  const child = spawn(command ?? '', words, { stdio: 'ignore', detached: true });
  child.on('error', () => undefined);
  child.unref();
}
