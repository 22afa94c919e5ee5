/** `orangebox replay REF`: the recorded answer through the real client, offline; or served on loopback. */
import { withViews } from '@orangebox/codec';
import { type RecordedReplay, replayRecorded, serveRecorded } from '@orangebox/replay';
import type { Snapshot } from '@orangebox/schema';
import { decodeContent, type ResolvedReference, type SnapshotStore } from '@orangebox/store';
import type { CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { loadOne, lookUp } from '../look-up.ts';
import { openStore } from '../open-store.ts';
import { parseCount, usage } from '../parse-options.ts';
import { withProgress } from '../progress.ts';
import { renderMessage } from '../show/message.ts';
import { type Pen, penFor } from '../show/pen.ts';
import { writeText } from '../show/text-block.ts';
import { escapeLine, safeJson } from '../text/escape.ts';
import { formatBytes, plural } from '../text/format.ts';
import { waitOf } from '../wait.ts';

/** Options of `replay`. */
export interface ReplayOptions {
  json?: boolean;
  serve?: boolean;
  port?: string;
  via?: string;
  wait?: string | boolean;
}

/** Replays one call, or serves what the reference names. */
export async function replay(context: CommandContext, reference: string, options: ReplayOptions): Promise<number> {
  if (options.port !== undefined && options.serve !== true)
    throw usage('--port goes with --serve', 'orangebox replay REF --serve --port 8080');
  const waitMs = waitOf(options.wait);
  const { store } = await openStore(context, { orEmpty: true });
  try {
    if (options.serve === true) return await serve(context, reference, options, store);
    const { entry, snapshot, store: owner } = await loadOne(context, reference, store, { waitMs });
    const via = options.via ?? 'auto';
    if (via !== 'auto' && via !== 'sdk' && via !== 'fetch')
      throw usage(`there is no client "${escapeLine(via)}"`, '--via takes auto, sdk or fetch');
    const result = await withProgress(
      context.terminal,
      () => 'replaying',
      replayRecorded(snapshot, { store: owner, cwd: context.cwd, via }),
    );
    if (options.json === true) context.terminal.line(safeJson(jsonOf(result), 2));
    else report(context, entry.ref, snapshot, result);
    return result.requestMatch === 'different' || result.refusedSockets > 0 ? EXIT.finding : EXIT.ok;
  } finally {
    await store.close();
  }
}

function jsonOf(result: RecordedReplay): object {
  const { error, ...rest } = result;
  return error === undefined ? rest : { ...rest, error: errorFacts(error) };
}

function errorFacts(error: unknown): { name: string; message: string; code?: unknown; status?: unknown } {
  if (!(error instanceof Error)) return { name: typeof error, message: String(error) };
  return {
    name: error.constructor.name,
    message: error.message,
    ...('code' in error && error.code !== undefined && error.code !== null ? { code: error.code } : {}),
    ...('status' in error && error.status !== undefined ? { status: error.status } : {}),
  };
}

const MATCH_WORDS: { readonly [match in RecordedReplay['requestMatch']]: string } = {
  exact: 'the client sent the recorded request, byte for byte',
  canonical: 'the client sent the recorded request in its canonical form (key order or header noise differ)',
  different: 'the client sent another request than the recorded one',
};

function report(context: CommandContext, ref: string, snapshot: Snapshot, result: RecordedReplay): void {
  const { terminal } = context;
  const c = terminal.colors;
  const pen = penFor(terminal);
  const via =
    result.via.kind === 'sdk' ? `${result.via.name} ${result.via.version}` : `plain fetch (${result.via.reason})`;
  terminal.line(`${c.green('▶')} ${c.bold('replayed')} ${c.yellow(ref)} through ${escapeLine(via)}`);
  for (const part of result.served) {
    const attempt = result.served.length > 1 ? `attempt ${part.attempt + 1}: ` : '';
    const status = part.status === undefined ? 'the recorded failure' : `status ${part.status}`;
    // A client that tries again leaves the body of the failed attempt alone.
    const read = part.chunks === 0 ? '' : `, ${formatBytes(part.sizeBytes)} in ${plural(part.chunks, 'chunk')}`;
    terminal.line(`  ${attempt}${status}${read}`);
  }
  const match = MATCH_WORDS[result.requestMatch];
  terminal.line(`  ${result.requestMatch === 'different' ? c.yellow(match) : match}`);
  const sockets = result.refusedSockets;
  terminal.line(
    sockets === 0
      ? `  ${c.dim('no outgoing socket')}`
      : `  ${c.red(`${plural(sockets, 'socket')} refused: something tried to reach the network`)}`,
  );
  if (result.events !== undefined && result.events.length > 0)
    terminal.line(c.dim(`  ${plural(result.events.length, 'event')} streamed`));
  terminal.line();
  renderOutcome(pen, snapshot, result);
}

function renderOutcome(pen: Pen, snapshot: Snapshot, result: RecordedReplay): void {
  const c = pen.colors;
  if (result.error !== undefined) {
    const facts = errorFacts(result.error);
    pen.line(`${c.red('▌')}${c.bold(c.red('the client threw'))}  ${escapeLine(facts.name)}`);
    writeText(pen, facts.message, '  ');
    return;
  }
  // The bytes are the recorded ones, so the conversation view of the recording is what the client was told.
  const { response } = withViews(snapshot, decodeContent);
  if (response !== undefined && response.choices.length > 0) {
    for (const choice of response.choices) renderMessage(pen, choice.message, new Map());
    return;
  }
  if (response?.embeddings !== undefined) pen.line(`  ${plural(response.embeddings.count, 'embedding')}`);
  else if (result.result !== undefined) writeText(pen, safeJson(result.result, 2), '  ');
}

async function serve(
  context: CommandContext,
  reference: string,
  options: ReplayOptions,
  store: SnapshotStore,
): Promise<number> {
  const { terminal } = context;
  const port = options.port === undefined ? undefined : parseCount(options.port, '--port', 0, 65535);
  const resolved = await lookUp(context, reference, store, { waitMs: waitOf(options.wait) });
  const refs = new Map(resolved.entries.map((entry) => [entry.trace.spanId, entry.ref]));
  const server = await serveRecorded(servable(reference, resolved), {
    store: resolved.store,
    cwd: context.cwd,
    ...(port === undefined ? {} : { port }),
    onRequest: (event) => {
      const c = terminal.errorColors;
      const head = `${escapeLine(event.method)} ${escapeLine(event.path)}`;
      if (event.kind === 'served')
        terminal.note(
          `${c.green('served')} ${head} ${c.dim(`from ${refs.get(event.spanId) ?? event.spanId}, ${event.rung}`)}`,
        );
      else terminal.note(`${c.red('missed')} ${head} ${c.dim(escapeLine(event.reason))}`);
    },
  });
  // Who reads the address may end it at once.
  const ended = interrupted();
  if (options.json === true) terminal.line(safeJson({ url: server.url, baseUrl: server.baseUrl, port: server.port }));
  else {
    terminal.line(server.baseUrl);
    if (terminal.errorInteractive) {
      const calls = plural(server.stats().remaining, 'recorded call');
      terminal.note(`serving ${calls} on loopback; Ctrl-C ends it. For an OpenAI client:`);
      terminal.note(`  OPENAI_BASE_URL=${server.baseUrl} OPENAI_API_KEY=unused node app.js`);
    }
  }
  await ended;
  const stats = server.stats();
  await server.close();
  if (terminal.errorInteractive)
    terminal.note(`\n${stats.served} served, ${stats.remaining} never asked for, ${stats.misses} missed`);
  return stats.misses > 0 ? EXIT.finding : EXIT.ok;
}

/** A whole session or trace is served by its name, whatever led to it, one call by its entry. */
function servable(reference: string, { entries, kind }: ResolvedReference): Parameters<typeof serveRecorded>[0] {
  const [first] = entries;
  if (first === undefined) return reference;
  if (entries.length === 1) return first;
  return (kind === 'trace' ? first.trace.traceId : kind === 'session' ? first.session?.id : undefined) ?? reference;
}

function interrupted(): Promise<void> {
  return new Promise((done) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => done());
  });
}
