/** The filters of `ls`, shared by whatever takes a selection. */
import type { Ending, SnapshotKind } from '@orangebox/schema';
import type { ListFilter, StoredStatus } from '@orangebox/store';
import { parseTime, usage } from './parse-options.ts';
import { escapeLine } from './text/escape.ts';

/** Options as commander gives them. */
export interface FilterOptions {
  since?: string;
  until?: string;
  model?: string;
  status?: string;
  tool?: string;
  text?: string;
  session?: string;
  user?: string;
  trace?: string;
  kind?: string;
}

const KINDS: readonly SnapshotKind[] = ['llm', 'tool', 'http', 'state'];

/** Parses the options into a filter. */
export function filterFrom(options: FilterOptions, nowMs: number): ListFilter {
  const filter: ListFilter = {};
  if (options.since !== undefined) filter.sinceUnixMs = parseTime(options.since, nowMs);
  if (options.until !== undefined) filter.untilUnixMs = parseTime(options.until, nowMs);
  if (options.model !== undefined) filter.model = options.model;
  if (options.status !== undefined) filter.status = parseStatus(options.status);
  if (options.tool !== undefined) filter.tool = options.tool;
  if (options.text !== undefined) filter.text = options.text;
  if (options.session !== undefined) filter.sessionId = options.session;
  if (options.user !== undefined) filter.userId = options.user;
  if (options.trace !== undefined) filter.traceId = options.trace.toLowerCase();
  if (options.kind !== undefined) filter.kinds = options.kind.split(',').map(parseKind);
  return filter;
}

/** Every ending and state that can be asked for; a missing one does not compile. */
const STATES: { readonly [state in Ending | StoredStatus]: true } = {
  complete: true,
  connect_failed: true,
  reset: true,
  cut: true,
  timeout: true,
  caller_abort: true,
  caller_stopped_reading: true,
  process_exit: true,
  process_died: true,
  upgraded: true,
  error: true,
  stored: true,
  promised: true,
  open: true,
  lost: true,
  not_kept: true,
};

/** A status as typed, or as the list shows it: `caller abort`, `running`. */
function parseStatus(text: string): string {
  const word = text.trim().toLowerCase().replaceAll(/[ -]/g, '_');
  if (word === 'running') return 'open';
  if (word === 'ok' || Object.hasOwn(STATES, word) || /^[1-5](xx|\d\d)$/.test(word)) return word;
  const names = Object.keys(STATES).filter((name) => name !== 'error');
  throw usage(`there is no status "${escapeLine(text)}"`, `it may be 429, 4xx, ok, error, ${names.join(', ')}`);
}

function parseKind(text: string): SnapshotKind {
  const kind = KINDS.find((k) => k === text.trim());
  if (kind === undefined) throw usage(`there is no kind "${escapeLine(text)}"`, `kinds are ${KINDS.join(', ')}`);
  return kind;
}
