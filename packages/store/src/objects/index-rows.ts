/** Rows of index objects: made of snapshots, packed into objects, and shown as entries of a list. */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type IndexRow, type Snapshot, snapshotKey } from '@orangebox/schema';
import { entryOfSnapshot } from '../entry-of-snapshot.ts';
import type { StoredEntry } from '../store.ts';
import { IndexFilter } from './index-filter.ts';

const gzipAsync = promisify(gzip);

/** Longest text of a row. Whoever wants more opens the snapshot. */
const TEXT_MAX_LENGTH = 500;

/** Longest URL of a row. */
const URL_MAX_LENGTH = 1_000;

/** Longest session or user id of a row. */
const ID_MAX_LENGTH = 1_000;

/** Most tool calls, scopes or attempts of a row. */
const LIST_MAX_LENGTH = 64;

/**
 * The row of a snapshot: what a list shows of it, bounded in size whatever the snapshot holds.
 *
 * @param sizeBytes of the snapshot's JSON.
 */
export function indexRowOf(snapshot: Snapshot, sizeBytes: number): IndexRow {
  const { kind, trace, session, scope, time, summary, tool, error, fidelity, chain, attemptSpanIds, process, request } =
    entryOfSnapshot(snapshot, '');
  return {
    key: snapshotKey(snapshot),
    kind,
    trace,
    ...(session ? { session: shortSession(session) } : {}),
    scope: scope.slice(0, LIST_MAX_LENGTH).map((frame) => ({ ...frame, name: cut(frame.name), id: cut(frame.id) })),
    time,
    ...(summary ? { summary: shortened(summary) } : {}),
    ...(tool ? { tool: { ...tool, name: cut(tool.name) } } : {}),
    ...(error ? { error: { type: cut(error.type), message: cut(error.message) } } : {}),
    fidelity,
    sizeBytes,
    digest: snapshot.digest,
    ...(chain ? { chain } : {}),
    ...(attemptSpanIds ? { attemptSpanIds: attemptSpanIds.slice(0, LIST_MAX_LENGTH) } : {}),
    process: processOf(process),
    ...(request ? { request: { method: cut(request.method), url: cut(request.url, URL_MAX_LENGTH) } } : {}),
  };
}

/** Ids are kept whole up to a length that none has which people or programs make. */
function shortSession({ id, userId, ...rest }: NonNullable<IndexRow['session']>): NonNullable<IndexRow['session']> {
  const ids = { id: cut(id, ID_MAX_LENGTH), ...(userId === undefined ? {} : { userId: cut(userId, ID_MAX_LENGTH) }) };
  return { ...rest, ...ids };
}

function processOf(process: StoredEntry['process']): IndexRow['process'] {
  const { pid = 0, threadId = 0, host = '', serviceName = 'unknown_service' } = process ?? {};
  return { pid, threadId, host: cut(host), serviceName: cut(serviceName) };
}

function shortened(summary: NonNullable<IndexRow['summary']>): NonNullable<IndexRow['summary']> {
  const { toolCalls, finishReasons, model, ...rest } = summary;
  return {
    ...rest,
    ...(model === undefined ? {} : { model: cut(model) }),
    ...(toolCalls
      ? {
          toolCalls: toolCalls
            .slice(0, LIST_MAX_LENGTH)
            .map(({ id, name }) => (id === undefined ? { name: cut(name) } : { id: cut(id), name: cut(name) })),
        }
      : {}),
    ...(finishReasons ? { finishReasons: finishReasons.slice(0, LIST_MAX_LENGTH).map((reason) => cut(reason)) } : {}),
  };
}

/** Cut between characters, so that the line stays valid UTF-8. */
function cut(text: string, length: number = TEXT_MAX_LENGTH): string {
  return text.length <= length ? text : `${text.slice(0, length - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** The line of a row, with its end. */
export function indexLine(row: IndexRow): string {
  return `${JSON.stringify(row)}\n`;
}

/** The bytes of an index object with these rows. */
export async function encodeIndexRows(rows: readonly IndexRow[]): Promise<Buffer> {
  const filter = new IndexFilter();
  for (const row of rows) filter.add(row);
  return filter.stamp(await packIndexLines(rows.map(indexLine)));
}

/** Lines as an index object has them, or a part of one: gzips that follow one another are one gzip. Its filter is to be added. */
export async function packIndexLines(lines: readonly string[]): Promise<Buffer> {
  return gzipAsync(Buffer.from(lines.join('')));
}

/** The entry of a row, `ref` still empty. */
export function entryOfRow(row: IndexRow, location: string): StoredEntry {
  // Members that a later version may have added are not passed on.
  const { key, kind, trace, session, scope, time, summary, tool, error, fidelity, sizeBytes, digest } = row;
  const { chain, attemptSpanIds, process, request } = row;
  return {
    ref: '',
    key,
    kind,
    trace,
    ...(session ? { session } : {}),
    scope,
    time,
    ...(summary ? { summary } : {}),
    ...(tool ? { tool } : {}),
    ...(error ? { error } : {}),
    fidelity,
    status: 'stored',
    sizeBytes,
    digest,
    ...(chain ? { chain } : {}),
    ...(attemptSpanIds ? { attemptSpanIds } : {}),
    process,
    ...(request ? { request } : {}),
    location,
  };
}
