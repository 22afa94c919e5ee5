/** From what a person typed to entries of a store. */
import { isAbsolute, join } from 'node:path';
import { OrangeboxError } from '@orangebox/schema';
import { ownCalls } from './canary.ts';
import { openStore } from './open-store.ts';
import { printable } from './printable.ts';
import { entriesOf, findKey, ReferenceLookup } from './reference-lookup.ts';
import type { ReferenceOptions, ResolvedReference } from './reference-types.ts';
import { findUrl, isUrl } from './reference-urls.ts';
import { fileSize, normalKey } from './safe-fs.ts';
import { REF_MIN_LENGTH } from './short-refs.ts';
import type { SnapshotStore, StoredEntry } from './store.ts';

const HELP =
  'orangebox ls shows what is recorded; a reference is the first column, a span, trace or session id, a snapshot key, a file, or last';

/** The beginning of a hash or UUID, as a list shows one. */
const SHORTENED_ID = new RegExp(`^[0-9a-f]{${REF_MIN_LENGTH},}(-[0-9a-f-]*)?$`, 'i');

/**
 * Resolves a reference: `last`, a short ref, snapshot key, span id, trace id (also `traceparent` and
 * `<trace id>:<span id>`), session id, file, `s3://` URI of a snapshot, or URL of a trace in Jaeger, Grafana, Tempo's API
 * or Orangebox's own page.
 *
 * @throws OrangeboxError `OBX_REF_UNKNOWN`, `OBX_REF_AMBIGUOUS`, `OBX_REF_TOO_SHORT`, `OBX_REF_UNSUPPORTED`,
 * `OBX_REF_NOTHING_RECORDED`, `OBX_STORE_SINCE_REQUIRED`, and for files and stores what reading them throws.
 */
export async function resolveReference(text: string, options: ReferenceOptions): Promise<ResolvedReference> {
  const { store } = options;
  const reference = text.trim();
  if (reference === '') throw new OrangeboxError('OBX_REF_UNKNOWN', 'the reference is empty', { hint: HELP });
  if (isUrl(reference)) return findUrl(reference, options);
  const lookup = new ReferenceLookup(store, options.sinceUnixMs);
  if (reference === 'last') return last(lookup);
  const key = normalKey(reference);
  if (key !== undefined) return findKey(key, store);
  const hex = reference.toLowerCase();
  const byId = await byIds(hex, lookup);
  if (byId) return byId;
  const session = await lookup.within({ sessionId: reference });
  if (session.length > 0) return { kind: 'session', entries: session, store };
  if (/^[0-9a-f]{1,15}$/.test(hex)) {
    const found = await byPrefix(hex, lookup);
    if (found) return found;
  }
  const shortened = await byShortenedSession(reference, lookup, options.sinceUnixMs);
  if (shortened) return shortened;
  const file = await byFile(reference, options);
  if (file) return file;
  if (/^[0-9a-f]{1,15}$/.test(hex) && hex.length < REF_MIN_LENGTH) {
    throw new OrangeboxError('OBX_REF_TOO_SHORT', `${printable(reference)} is too short for a reference`, {
      hint: `give ${REF_MIN_LENGTH} digits or more`,
    });
  }
  lookup.refuseWithoutTime();
  throw new OrangeboxError('OBX_REF_UNKNOWN', `nothing recorded is called ${printable(reference)}`, {
    hint: `${HELP} (looked in ${store.location})`,
  });
}

/**
 * Resolves a reference that must mean one call or tool execution. A trace or session with one single call means it.
 *
 * @throws OrangeboxError as {@link resolveReference}, and `OBX_REF_AMBIGUOUS` when there are several.
 */
export async function resolveOne(
  text: string,
  options: ReferenceOptions,
): Promise<{ entry: StoredEntry; store: SnapshotStore }> {
  const { entries, store, kind } = await resolveReference(text, options);
  const calls = entries.filter((entry) => entry.kind !== 'tool');
  const candidates = entries.length === 1 || calls.length === 0 ? entries : calls;
  const [entry] = candidates;
  if (entry && candidates.length === 1) return { entry, store };
  throw ambiguous(text, `is a ${kind} of ${candidates.length} calls`, candidates);
}

/**
 * The id of the one session whose id is this, or begins so: lists shorten ids that are hashes or UUIDs.
 *
 * @throws OrangeboxError `OBX_REF_AMBIGUOUS` when several begin so, and what listing the store throws.
 */
export async function findSessionId(
  text: string,
  store: SnapshotStore,
  sinceUnixMs?: number,
): Promise<string | undefined> {
  const isShort = SHORTENED_ID.test(text);
  const time = sinceUnixMs === undefined ? {} : { sinceUnixMs };
  const found = new Set<string>();
  for await (const { session } of store.list(isShort ? time : { ...time, sessionId: text, limit: 1 })) {
    if (session?.id === text) return text;
    if (session?.id.toLowerCase().startsWith(text.toLowerCase())) found.add(session.id);
  }
  if (found.size <= 1) return [...found][0];
  throw new OrangeboxError('OBX_REF_AMBIGUOUS', `${printable(text)} fits ${found.size} sessions`, {
    hint: `give more of it: ${[...found].slice(0, 3).map(printable).join(', ')}`,
  });
}

async function last(lookup: ReferenceLookup): Promise<ResolvedReference> {
  for (const filter of [{ kinds: ['llm' as const] }, { kinds: ['http' as const] }, {}]) {
    // A canary of doctor is nobody's call.
    const entries = await lookup.within(ownCalls({ ...filter, order: 'newest', limit: 1 }));
    if (entries.length > 0) return { kind: 'last', entries, store: lookup.store };
  }
  lookup.refuseWithoutTime();
  throw new OrangeboxError('OBX_REF_NOTHING_RECORDED', `nothing is recorded in ${lookup.store.location}`, {
    hint: 'record a program with: orangebox run -- node app.js; if one ran, orangebox doctor says what was left out',
  });
}

/** By span id, by trace id, or by both as W3C's `traceparent` and trace UIs write them. */
async function byIds(hex: string, lookup: ReferenceLookup): Promise<ResolvedReference | undefined> {
  const { store } = lookup;
  const pair = /^(?:00-)?([0-9a-f]{32})[-:/]([0-9a-f]{16})(?:-[0-9a-f]{2})?$/.exec(hex);
  if (pair?.[1] !== undefined && pair[2] !== undefined) {
    const entries = await lookup.byPlace({ traceId: pair[1], spanId: pair[2] });
    if (entries.length > 0) return { kind: 'span', entries, store };
  }
  if (/^[0-9a-f]{16}$/.test(hex)) {
    const entries = await lookup.within({ spanId: hex });
    if (entries.length > 0) return { kind: 'span', entries, store };
  }
  if (/^[0-9a-f]{32}$/.test(hex)) {
    const entries = await lookup.byPlace({ traceId: hex });
    if (entries.length > 0) return { kind: 'trace', entries, store };
  }
  return undefined;
}

async function byPrefix(prefix: string, lookup: ReferenceLookup): Promise<ResolvedReference | undefined> {
  if (prefix.length < REF_MIN_LENGTH) return undefined;
  const entries = await lookup.within({ spanIdPrefix: prefix });
  if (entries.length > 1) throw ambiguous(prefix, `fits ${entries.length} spans`, entries);
  return entries.length === 1 ? { kind: 'ref', entries, store: lookup.store } : undefined;
}

async function byShortenedSession(
  reference: string,
  lookup: ReferenceLookup,
  sinceUnixMs: number | undefined,
): Promise<ResolvedReference | undefined> {
  if (!SHORTENED_ID.test(reference)) return undefined;
  const { store } = lookup;
  const sessionId = await lookup.unlessTimeIsNeeded(() => findSessionId(reference, store, sinceUnixMs));
  if (sessionId === undefined) return undefined;
  return { kind: 'session', entries: await lookup.within({ sessionId }), store };
}

async function byFile(reference: string, options: ReferenceOptions): Promise<ResolvedReference | undefined> {
  if (reference.includes('\0')) return undefined;
  const path = isAbsolute(reference) ? reference : join(options.cwd ?? process.cwd(), reference);
  const looksLikeFile = /[\\/]/.test(reference) || /\.(obxs|json|gz|binpb)$/i.test(reference);
  let size: number | undefined;
  try {
    size = await fileSize(path);
  } catch (error) {
    if (looksLikeFile) throw error;
    return undefined;
  }
  if (size === undefined) {
    if (!looksLikeFile) return undefined;
    throw new OrangeboxError('OBX_REF_UNKNOWN', `there is no file ${printable(reference)}`, { hint: HELP });
  }
  const store = await openStore(path);
  const entries = await entriesOf(store, {});
  if (entries.length > 0) return { kind: 'file', entries, store };
  const [problem] = await store.problems();
  if (problem)
    throw new OrangeboxError(problem.code, problem.message, problem.hint === undefined ? {} : { hint: problem.hint });
  throw new OrangeboxError('OBX_REF_NOTHING_RECORDED', `${printable(reference)} holds no calls`, {
    hint: 'the process recognised no LLM request; ORANGEBOX_INCLUDE can name others',
  });
}

function ambiguous(text: string, what: string, entries: readonly StoredEntry[]): OrangeboxError {
  const refs = entries.slice(0, 6).map((entry) => entry.ref);
  return new OrangeboxError('OBX_REF_AMBIGUOUS', `${printable(text)} ${what}`, {
    hint: `name one of them: ${refs.join(', ')}${entries.length > refs.length ? ', …' : ''}`,
  });
}
