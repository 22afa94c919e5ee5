/** `orangebox show REF`: a call as a conversation, or its bytes, JSON, HTTP or curl form. */
import { decodeBody, headerOf } from '@orangebox/codec';
import { OrangeboxError, type Snapshot } from '@orangebox/schema';
import { decodeContent, type ResolvedReference, type SnapshotStore } from '@orangebox/store';
import type { CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { isUrl, loadOne, lookUp } from '../look-up.ts';
import { type Opened, openStore } from '../open-store.ts';
import { usage } from '../parse-options.ts';
import { withProgress } from '../progress.ts';
import { renderCall } from '../show/call.ts';
import { curlCommand } from '../show/curl.ts';
import { renderKnownFacts } from '../show/known-facts.ts';
import { renderHttp } from '../show/http.ts';
import { loadCall, loadEarlier, loadWithNext } from '../show/load-calls.ts';
import { nextAfterCall, nextAfterRun, quoteId, writeNext } from '../show/next-commands.ts';
import { penFor } from '../show/pen.ts';
import type { ShownCall } from '../show/shown-call.ts';
import { renderRun } from '../show/run.ts';
import { escapeText, safeJson } from '../text/escape.ts';
import { waitOf } from '../wait.ts';

/** Options of `show`. */
export interface ShowOptions {
  all?: boolean;
  raw?: boolean;
  request?: boolean;
  json?: boolean;
  http?: boolean;
  curl?: boolean;
  wait?: string | boolean;
}

/** Shows what a reference names. */
export async function show(context: CommandContext, reference: string, options: ShowOptions): Promise<number> {
  const forms = (['raw', 'json', 'http', 'curl'] as const).filter((form) => options[form] === true);
  if (forms.length > 1) throw usage(`--${forms[0]} and --${forms[1]} exclude each other`, 'choose one form');
  if (options.request === true && options.raw !== true)
    throw usage('--request goes with --raw', 'orangebox show REF --raw --request');
  waitOf(options.wait);
  const opened = await openStore(context, { orEmpty: true });
  const { store } = opened;
  try {
    const [form] = forms;
    if (form === 'raw' || form === 'http' || form === 'curl') await showForm(context, reference, form, options, store);
    else await showConversation(context, reference, options, opened);
  } finally {
    await store.close();
  }
  return EXIT.ok;
}

async function showForm(
  context: CommandContext,
  reference: string,
  form: 'raw' | 'http' | 'curl',
  options: ShowOptions,
  store: SnapshotStore,
): Promise<void> {
  const { terminal } = context;
  const { snapshot } = await loadOne(context, reference, store, { waitMs: waitOf(options.wait) });
  if (form === 'http' && snapshot.exchanges.length === 0) {
    throw new OrangeboxError('OBX_BODY_NOT_FOUND', 'a tool execution has no HTTP messages', {
      hint: 'show it without --http, or the call that asked for it',
    });
  }
  if (form === 'http') renderHttp(penFor(terminal, options), snapshot, decodeContent);
  else if (form === 'curl') terminal.line(curlCommand(snapshot, context.env.all));
  else writeRaw(context, snapshot, options.request === true);
}

/** The body's bytes as they came, in a pipe or file; on a terminal its decoded text, escaped. */
function writeRaw(context: CommandContext, snapshot: Snapshot, ofRequest: boolean): void {
  const exchange = snapshot.exchanges.at(-1);
  const part = ofRequest ? exchange?.request : exchange?.response;
  if (part === undefined) {
    throw new OrangeboxError('OBX_BODY_NOT_FOUND', `this call has no ${ofRequest ? 'request' : 'response'} on record`, {
      hint: 'look at what there is with --json',
    });
  }
  const bytes = decodeBody(part.body);
  if (!context.terminal.interactive) {
    context.terminal.bytes(bytes);
    return;
  }
  const encoding = headerOf(part.headers, 'content-encoding');
  const stored = 'storedDecoded' in part && part.storedDecoded !== undefined;
  const plain = encoding === undefined || stored ? bytes : (decodeContent(encoding, bytes) ?? bytes);
  context.terminal.line(escapeText(new TextDecoder().decode(plain)));
}

async function showConversation(
  context: CommandContext,
  reference: string,
  options: ShowOptions,
  { store, remote }: Opened,
): Promise<void> {
  const { terminal } = context;
  const resolved = await lookUp(context, reference, store, { waitMs: waitOf(options.wait) });
  const { entries } = resolved;
  if (options.json === true) {
    await writeJson(context, resolved);
    return;
  }
  const pen = penFor(terminal, options);
  const { nowMs } = context;
  const all = options.all === true;
  const [only] = entries;
  if (entries.length > 1 || only === undefined) {
    const last = await renderRun(pen, resolved, { nowMs, all });
    if (terminal.interactive) writeNext(terminal, nextAfterRun(last));
    return;
  }
  const load = async (): Promise<[ShownCall, ShownCall[]]> => [
    await loadWithNext(resolved.store, only),
    await loadEarlier(resolved.store, only),
  ];
  const [call, earlier] = await withProgress(terminal, () => 'loading', load()).catch((error: unknown) => {
    if (error instanceof OrangeboxError) renderKnownFacts(pen, only, nowMs);
    throw error;
  });
  renderCall(pen, call, { nowMs, all, earlier });
  if (terminal.interactive)
    writeNext(
      terminal,
      nextAfterCall(call, againAs(reference, resolved, remote.length > 0 && context.places.since === undefined)),
    );
}

/** What names a call in the next command: its short ref, unless that needs a time to look in. */
function againAs(reference: string, { kind, entries }: ResolvedReference, needsTime: boolean): string | undefined {
  if (kind === 'file' || isUrl(reference)) return quoteId(reference.trim());
  const [entry] = entries;
  return entry !== undefined && needsTime ? `${entry.trace.traceId}:${entry.trace.spanId}` : undefined;
}

/** One document, or a list of them, written one by one. */
async function writeJson(context: CommandContext, { entries, store }: ResolvedReference): Promise<void> {
  const { terminal } = context;
  const [only] = entries;
  if (entries.length === 1 && only !== undefined) {
    terminal.line(safeJson((await loadWithNext(store, only)).snapshot, 2));
    return;
  }
  terminal.line('[');
  for (const [i, entry] of entries.entries()) {
    const { snapshot } = await loadCall(store, entry);
    terminal.line(`${safeJson(snapshot, 2)}${i < entries.length - 1 ? ',' : ''}`);
  }
  terminal.line(']');
}
