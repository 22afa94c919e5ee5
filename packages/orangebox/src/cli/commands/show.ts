/** `orangebox show REF`: a call as a conversation, or its bytes, JSON, HTTP or curl form. */
import { decodeBody, withViews } from '@orangebox/codec';
import { rehydrate } from '@orangebox/replay';
import { OrangeboxError, type Snapshot } from '@orangebox/schema';
import { decodeContent, type SnapshotStore, type StoredEntry } from '@orangebox/store';
import type { CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { loadOne, lookUp, openStore } from '../open-store.ts';
import { usage } from '../parse-options.ts';
import { withProgress } from '../progress.ts';
import { renderCall } from '../show/call.ts';
import { curlCommand } from '../show/curl.ts';
import { renderHttp } from '../show/http.ts';
import { nextAfterCall, nextAfterRun, writeNext } from '../show/next-commands.ts';
import { penFor } from '../show/pen.ts';
import type { ShownCall } from '../show/shown-call.ts';
import { renderRunHeader } from '../show/run-header.ts';
import { escapeText, safeJson } from '../text/escape.ts';

/** Options of `show`. */
export interface ShowOptions {
  all?: boolean;
  raw?: boolean;
  request?: boolean;
  json?: boolean;
  http?: boolean;
  curl?: boolean;
}

/** Earlier calls that are looked through for the one a call goes on from. */
const LOOK_BACK = 12;

/** Shows what a reference names. */
export async function show(context: CommandContext, reference: string, options: ShowOptions): Promise<number> {
  const forms = (['raw', 'json', 'http', 'curl'] as const).filter((form) => options[form] === true);
  if (forms.length > 1) throw usage(`--${forms[0]} and --${forms[1]} exclude each other`, 'choose one form');
  if (options.request === true && options.raw !== true)
    throw usage('--request goes with --raw', 'orangebox show REF --raw --request');
  const { store } = await openStore(context, { orEmpty: true });
  try {
    const [form] = forms;
    if (form === 'raw' || form === 'http' || form === 'curl') await showForm(context, reference, form, options, store);
    else await showConversation(context, reference, options, store);
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
  const { snapshot } = await loadOne(context, reference, store);
  if (form === 'http') renderHttp(penFor(terminal, options), snapshot, decodeContent);
  else if (form === 'curl') terminal.line(curlCommand(snapshot));
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
  const encoding = part.headers.find(([name]) => name.toLowerCase() === 'content-encoding')?.[1];
  const stored = 'storedDecoded' in part && part.storedDecoded !== undefined;
  const plain = encoding === undefined || stored ? bytes : (decodeContent(encoding, bytes) ?? bytes);
  context.terminal.line(escapeText(new TextDecoder().decode(plain)));
}

async function showConversation(
  context: CommandContext,
  reference: string,
  options: ShowOptions,
  store: SnapshotStore,
): Promise<void> {
  const { terminal } = context;
  const resolved = await lookUp(context, reference, store);
  const { entries } = resolved;
  let done = 0;
  const calls = await withProgress(
    terminal,
    () => `loading ${done} of ${entries.length}`,
    entries.length === 1 ? loadWithNext(resolved.store, entries) : loadAll(resolved.store, entries, () => done++),
  );
  if (options.json === true) {
    const documents = calls.map((call) => call.snapshot);
    terminal.line(safeJson(documents.length === 1 ? documents[0] : documents, 2));
    return;
  }
  const pen = penFor(terminal, options);
  const [only] = calls;
  if (calls.length === 1 && only !== undefined && entries[0] !== undefined) {
    const earlier = await earlierCalls(resolved.store, entries[0]);
    renderCall(pen, only, { nowMs: context.nowMs, all: options.all === true, earlier });
    if (terminal.interactive) writeNext(terminal, nextAfterCall(only));
    return;
  }
  renderRunHeader(pen, resolved, entries, context.nowMs);
  const ordered = inAskedOrder(calls);
  const tools = ordered.flatMap((call) => call.snapshot.tool ?? []);
  for (const [i, call] of ordered.entries()) {
    pen.line();
    const earlier = ordered.slice(0, i);
    renderCall(pen, call, { nowMs: context.nowMs, all: options.all === true, earlier, among: { tools } });
  }
  if (terminal.interactive) writeNext(terminal, nextAfterRun(calls));
}

/** A single call, with what came after it: its tools' results and the messages of the next call. */
async function loadWithNext(store: SnapshotStore, entries: readonly StoredEntry[]): Promise<ShownCall[]> {
  const [entry] = entries;
  if (entry === undefined) return [];
  try {
    return [shownCall(entry, (await rehydrate(entry, { store })).snapshot)];
  } catch {
    // A damaged neighbour must not keep the call itself from being shown.
    return loadAll(store, entries, () => undefined);
  }
}

/** Tool runs that began at one moment in the order in which the model asked for them. */
function inAskedOrder(calls: readonly ShownCall[]): ShownCall[] {
  const asked = calls.flatMap((call) => (call.snapshot.response?.toolCalls ?? []).map((tool) => tool.id));
  const place = (call: ShownCall): number => asked.indexOf(call.snapshot.tool?.callId);
  return calls.toSorted((a, b) => {
    const [left, right] = [BigInt(a.snapshot.time.startUnixNano), BigInt(b.snapshot.time.startUnixNano)];
    if (left !== right) return left < right ? -1 : 1;
    return a.snapshot.tool === undefined || b.snapshot.tool === undefined ? 0 : place(a) - place(b);
  });
}

function shownCall(entry: StoredEntry, snapshot: Snapshot): ShownCall {
  return { ref: entry.ref, snapshot, ...(entry.status === 'open' ? { running: true } : {}) };
}

async function loadAll(store: SnapshotStore, entries: readonly StoredEntry[], tick: () => void): Promise<ShownCall[]> {
  const calls: ShownCall[] = [];
  for (const entry of entries) {
    calls.push(shownCall(entry, withViews(await store.load(entry), decodeContent)));
    tick();
  }
  return calls;
}

/** The calls of the session before this one, oldest first; those whose bytes are gone are left out. */
async function earlierCalls(store: SnapshotStore, entry: StoredEntry): Promise<ShownCall[]> {
  if (entry.session === undefined || entry.kind !== 'llm') return [];
  const before: StoredEntry[] = [];
  const start = BigInt(entry.time.startUnixNano);
  for await (const other of store.list({ sessionId: entry.session.id, kinds: ['llm'] })) {
    if (BigInt(other.time.startUnixNano) >= start || other.status !== 'stored') continue;
    before.push(other);
    if (before.length === LOOK_BACK) break;
  }
  const calls: ShownCall[] = [];
  for (const other of before.reverse()) {
    // A damaged neighbour must not keep the call itself from being shown.
    const [call] = await loadAll(store, [other], () => undefined).catch(() => []);
    if (call !== undefined) calls.push(call);
  }
  return calls;
}
