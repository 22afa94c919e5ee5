/** What retention has to know of a record. Records are not trusted: what has another shape gives undefined. */
import { parseSnapshotKey } from '@orangebox/schema';
import type { WalkedFrame } from './frame-walk.ts';

/** Of a call or tool execution that ended. */
export interface EndFacts {
  /** Empty for a tool execution. */
  exchangeIds: number[];
  spanId: string;
  startMs: number;
  isFailed: boolean;
}

/** Larger records are searched, not parsed. */
const PARSED_MAX_BYTES = 64 * 1024;
const HEAD_BYTES = 4096;
const ID_FIRST = '{"exchangeId":';
const NANO_PER_MS = 1e6;

/** Number of the exchange that a record belongs to. */
export function exchangeIdOf({ type, content }: WalkedFrame): number | undefined {
  if (type === 'requestChunk' || type === 'responseChunk') return content.readUInt32LE(0) || undefined;
  let id: unknown;
  if (content.toString('latin1', 0, ID_FIRST.length) === ID_FIRST) {
    id = Number.parseInt(content.toString('latin1', ID_FIRST.length, ID_FIRST.length + 11), 10);
  } else id = parsed(content)?.['exchangeId'];
  return isId(id) ? id : undefined;
}

/** Ids and time of an exchange that began, as far as they are there. */
export function startFacts({ content }: WalkedFrame): { spanId: string; startMs: number } {
  const text = content.toString('latin1', 0, PARSED_MAX_BYTES);
  return { spanId: /"spanId":"([0-9a-f]{16})"/.exec(text)?.[1] ?? '', startMs: startOf(text) };
}

/** Of a `callEnd` or `tool` record. */
export function endFacts(frame: WalkedFrame): EndFacts | undefined {
  const { content } = frame;
  if (content.length > PARSED_MAX_BYTES) return searched(frame);
  const record = parsed(content);
  const trace = record?.['trace'] as { spanId?: unknown } | undefined;
  const time = record?.['time'] as { startUnixNano?: unknown } | undefined;
  const ids = frame.type === 'callEnd' ? record?.['exchangeIds'] : [];
  if (!record || !Array.isArray(ids) || !ids.every(isId)) return undefined;
  if (typeof trace?.spanId !== 'string' || !isSpanId(trace.spanId)) return undefined;
  const startMs = Number(time?.startUnixNano) / NANO_PER_MS;
  if (!Number.isFinite(startMs)) return undefined;
  return { exchangeIds: ids, spanId: trace.spanId, startMs, isFailed: record['error'] !== undefined };
}

/** Span id of the key in a `shipped` or `quarantined` record. */
export function keySpanOf({ content }: WalkedFrame): string | undefined {
  const key = parsed(content)?.['key'];
  return typeof key === 'string' ? parseSnapshotKey(key)?.spanId : undefined;
}

/** Span ids of a `spansSent` record. */
export function sentSpansOf({ content }: WalkedFrame): string[] {
  const ids = parsed(content)?.['spanIds'];
  return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : [];
}

/** Exchanges of a `forgotten` record. */
export function forgottenIdsOf({ content }: WalkedFrame): number[] {
  const ids = parsed(content)?.['exchangeIds'];
  return Array.isArray(ids) ? ids.filter(isId) : [];
}

/** The namespace of process numbers that a `segmentStart` names. */
export function pidNamespaceOf({ content }: WalkedFrame): string | undefined {
  const name = parsed(content)?.['pidNamespace'];
  return typeof name === 'string' ? name : undefined;
}

/** A large record by its first words; a failure that it may hide further on counts as one. */
function searched({ type, content, isWhole }: WalkedFrame): EndFacts | undefined {
  const text = content.toString('latin1', 0, HEAD_BYTES);
  const list = type === 'callEnd' ? /"exchangeIds":\[([\d,]*)\]/.exec(text)?.[1] : '';
  const spanId = /"spanId":"([0-9a-f]{16})"/.exec(text)?.[1];
  if (list === undefined || spanId === undefined) return undefined;
  const exchangeIds = list === '' ? [] : list.split(',').map(Number);
  if (!exchangeIds.every(isId)) return undefined;
  const isFailed = content.includes(',"error":{') || (type === 'tool' && !isWhole);
  return { exchangeIds, spanId, startMs: startOf(text), isFailed };
}

function startOf(text: string): number {
  return Number(/"startUnixNano":"(\d{1,20})"/.exec(text)?.[1] ?? 0) / NANO_PER_MS;
}

function parsed(content: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(content.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function isId(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= 0xffff_ffff;
}

function isSpanId(text: string): boolean {
  return /^[0-9a-f]{16}$/.test(text);
}
