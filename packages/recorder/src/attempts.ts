/** When an exchange is one more attempt of an earlier call: pure rules over what was recorded. */
import type { ExchangeRecords } from '@orangebox/codec';
import type { AttemptsBasis, Ending, HeaderList } from '@orangebox/schema';
import { joinedHeader } from './joined-header.ts';

/** What the rules look at: an exchange that is recorded, or one that a process which died has left. */
export interface Attempt {
  readonly start: { readonly method: string; readonly context: { readonly place: object | undefined } };
  readonly records: Pick<ExchangeRecords, 'start' | 'requestHead' | 'responseHead'>;
  readonly wireEnd: { readonly ending: Ending } | undefined;
}

/** The least time that a failed call waits for its retry. */
const RETRY_WINDOW_MS = 60_000;
/** A redirect is followed at once, or not at all. */
const REDIRECT_WINDOW_MS = 5000;
/** An SDK's own timeout looks like the caller's abort; the retry follows within its largest pause. */
const ABORT_WINDOW_MS = 10_000;
const MAX_WINDOW_MS = 3600_000;
const RETRY_COUNT_HEADER = 'x-stainless-retry-count';
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** How long a call whose last exchange this is waits for another attempt; 0 when none can follow. */
export function waitForSuccessorMs(exchange: Attempt, nowMs: number): number {
  const head = exchange.records.responseHead;
  if (redirectTarget(exchange) !== undefined) return REDIRECT_WINDOW_MS;
  if (isRetryable(exchange)) {
    const after = retryAfterMs(head?.headers, nowMs) ?? 0;
    // Servers name fractions too.
    return Math.ceil(Math.min(Math.max(after, RETRY_WINDOW_MS), MAX_WINDOW_MS));
  }
  return exchange.wireEnd?.ending === 'caller_abort' && retryCount(exchange) !== undefined ? ABORT_WINDOW_MS : 0;
}

/**
 * Whether `next` may follow `earlier` as an attempt of the same call, and on what evidence. `first` is the call's first:
 * where redirects led away from it, a retry begins there again.
 */
export function joins(
  earlier: Attempt,
  next: Attempt,
  sameBody: () => boolean,
  first: Attempt = earlier,
): AttemptsBasis | undefined {
  if (earlier.start.context.place !== next.start.context.place) return undefined;
  const target = redirectTarget(earlier);
  if (target !== undefined) {
    if (target !== next.records.start.url) return undefined;
    const status = earlier.records.responseHead?.status;
    const keepsMethod = status === 307 || status === 308;
    const sameMethod = earlier.start.method === next.start.method;
    if (keepsMethod ? !sameMethod || !sameBody() : !sameMethod && next.start.method !== 'GET') return undefined;
    return 'redirect';
  }
  if (!sameTarget(earlier, next) && !sameTarget(first, next)) return undefined;
  const [before, count] = [retryCount(earlier), retryCount(next)];
  if (count !== undefined && count > 0) {
    if (before !== undefined && before !== count - 1) return undefined;
    return (isRetryable(earlier) || earlier.wireEnd?.ending === 'caller_abort') && sameBody()
      ? 'retry_header'
      : undefined;
  }
  // An SDK that counts begins a new call at 0.
  if (count === 0 && before !== undefined && before > 0) return undefined;
  return isRetryable(earlier) && sameBody() ? 'inferred' : undefined;
}

/** The weaker of two. */
export function weaker(a: AttemptsBasis | undefined, b: AttemptsBasis): AttemptsBasis {
  const order: AttemptsBasis[] = ['retry_header', 'redirect', 'inferred'];
  return a !== undefined && order.indexOf(a) > order.indexOf(b) ? a : b;
}

function sameTarget(a: Attempt, b: Attempt): boolean {
  return a.start.method === b.start.method && a.records.start.url === b.records.start.url;
}

function isRetryable(exchange: Attempt): boolean {
  const head = exchange.records.responseHead;
  if (head && joinedHeader(head.headers, 'x-should-retry') === 'false') return false;
  const status = head?.status ?? 0;
  if (status === 408 || status === 409 || status === 429 || status >= 500) return true;
  switch (exchange.wireEnd?.ending) {
    case 'connect_failed':
    case 'reset':
    case 'cut':
    case 'timeout':
    case 'error':
      return true;
    default:
      return false;
  }
}

/** Absolute URL (credentials replaced) that a redirect answer points to. */
function redirectTarget(exchange: Attempt): string | undefined {
  const head = exchange.records.responseHead;
  if (!head || !REDIRECTS.has(head.status)) return undefined;
  const location = joinedHeader(head.headers, 'location');
  const base = exchange.records.start.url;
  return location !== undefined && URL.canParse(location, base) ? new URL(location, base).href : undefined;
}

function retryCount(exchange: Attempt): number | undefined {
  const raw = joinedHeader(exchange.records.requestHead?.headers, RETRY_COUNT_HEADER);
  return raw !== undefined && /^\d{1,6}$/.test(raw) ? Number(raw) : undefined;
}

function retryAfterMs(headers: HeaderList | undefined, nowMs: number): number | undefined {
  const ms = Number(joinedHeader(headers, 'retry-after-ms') ?? Number.NaN);
  if (Number.isFinite(ms)) return ms;
  const raw = joinedHeader(headers, 'retry-after');
  if (raw === undefined) return undefined;
  const seconds = Number(raw);
  const value = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(raw) - nowMs;
  return Number.isFinite(value) ? value : undefined;
}
