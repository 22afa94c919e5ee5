/** Which trace and span a URL means that somebody copied from a trace UI. */
import { arrayOf, isObject } from './foreign-json.ts';
import { paddedTraceId } from './span-ids.ts';

/** A URL of a trace, taken apart. */
export interface TraceUrl {
  /** Whose page it is: `api` is a query API of Jaeger or Tempo, `page` Orangebox's own page of a call. */
  page: 'jaeger' | 'grafana' | 'api' | 'page';
  /** 32 hex digits. */
  traceId: string;
  /** 16 hex digits, where one span is meant. */
  spanId?: string;
  /**
   * Base URL that a query API may answer at, without credentials: for Grafana the proxy of the data source, where the URL
   * names one.
   */
  base: string;
}

const ID = '([0-9a-f]{1,32})';
/** Paths below a base path. */
const PATHS: readonly [TraceUrl['page'], RegExp][] = [
  ['api', new RegExp(`^(.*?)/api/(?:v[0-9]+/)?traces/${ID}(?:/json)?/?$`, 'i')],
  ['page', new RegExp(`^(.*?)/t/([0-9a-f]{32})(?:/([0-9a-f]{16}))?/?$`, 'i')],
  ['jaeger', new RegExp(`^(.*?)/trace/${ID}/?$`, 'i')],
];
const TEXT_MAX = 64 * 1024;
const DEPTH_MAX = 12;

/**
 * Takes apart a URL of Jaeger (page or API), of Tempo's API, of Grafana (Explore in its old and new form, dashboards and
 * applications that name a trace) or of Orangebox's own page; undefined when it names no trace.
 */
export function parseTraceUrl(text: string): TraceUrl | undefined {
  const url = httpUrl(text);
  if (!url) return undefined;
  return byPath(url, url.pathname) ?? byHash(url) ?? byGrafana(url);
}

function httpUrl(text: string): URL | undefined {
  if (text.length > TEXT_MAX) return undefined;
  try {
    const url = new URL(text.trim());
    return url.protocol === 'http:' || url.protocol === 'https:' ? url : undefined;
  } catch {
    return undefined;
  }
}

function byPath(url: URL, path: string): TraceUrl | undefined {
  for (const [page, pattern] of PATHS) {
    const found = pattern.exec(path);
    const traceId = paddedTraceId(found?.[2] ?? '');
    if (!found || traceId === undefined) continue;
    const spanId = found[3] ?? url.searchParams.get('uiFind') ?? url.searchParams.get('spanId');
    return { page, traceId, ...spanOf(spanId), base: `${url.origin}${found[1] ?? ''}` };
  }
  return undefined;
}

/** Pages that keep their path behind `#`. */
function byHash(url: URL): TraceUrl | undefined {
  if (!url.hash.startsWith('#/')) return undefined;
  const inner = httpUrl(`${url.origin}${url.pathname.replace(/\/$/, '')}${url.hash.slice(1)}`);
  return inner && byPath(inner, inner.pathname);
}

function byGrafana(url: URL): TraceUrl | undefined {
  const place = /^(.*?)\/(?:explore|d|d-solo|a)(?:\/|$)/.exec(url.pathname);
  if (!place) return undefined;
  const root = `${url.origin}${place[1] ?? ''}`;
  for (const pane of panesOf(url.searchParams)) {
    const { trace, span, dataSource } = look(pane);
    if (trace === undefined) continue;
    const base = dataSource === undefined ? root : `${root}/api/datasources/proxy/uid/${dataSource}`;
    return { page: 'grafana', traceId: trace, ...spanOf(span), base };
  }
  const traceId = paddedTraceId(named(url.searchParams, TRACE_NAMES) ?? '');
  if (traceId === undefined) return undefined;
  return { page: 'grafana', traceId, ...spanOf(named(url.searchParams, SPAN_NAMES)), base: root };
}

const TRACE_NAMES = ['traceid', 'trace_id', 'var-traceid', 'var-trace_id', 'var-trace'];
const SPAN_NAMES = ['spanid', 'span_id', 'focusedspanid', 'var-spanid', 'var-span_id'];

function named(parameters: URLSearchParams, names: readonly string[]): string | undefined {
  for (const [name, value] of parameters) if (names.includes(name.toLowerCase())) return value;
  return undefined;
}

/** What stands in the panes of Explore: `panes` maps names to panes, `left` and `right` are one each. */
function panesOf(parameters: URLSearchParams): unknown[] {
  const panes = parsed(parameters.get('panes'));
  return [
    ...(isObject(panes) ? Object.values(panes) : []),
    ...['left', 'right'].flatMap((name) => parsed(parameters.get(name)) ?? []),
  ].flatMap((pane) => (Array.isArray(pane) ? [pane] : isObject(pane) ? [pane] : []));
}

function parsed(text: string | null): unknown {
  if (text === null) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    // `left` was a list once; `flatMap` above would take it apart.
    return Array.isArray(value) ? [value] : value;
  } catch {
    return undefined;
  }
}

interface PaneFacts {
  trace?: string | undefined;
  span?: string;
  dataSource?: string;
}

/** The first trace id, span id and data source in a pane, wherever its version keeps them. */
function look(pane: unknown, facts: PaneFacts = {}, depth = 0): PaneFacts {
  if (depth > DEPTH_MAX) return facts;
  for (const item of arrayOf(pane)) look(item, facts, depth + 1);
  if (!isObject(pane)) return facts;
  for (const [name, value] of Object.entries(pane)) {
    const key = name.toLowerCase();
    if (typeof value !== 'string') {
      look(value, facts, depth + 1);
    } else if (TRACE_NAMES.includes(key) || (key === 'query' && /^[0-9a-f]{8,32}$/i.test(value.trim()))) {
      facts.trace ??= paddedTraceId(value.trim());
    } else if (SPAN_NAMES.includes(key)) facts.span ??= value;
    else if ((key === 'datasource' || key === 'uid') && /^[A-Za-z0-9_-]{1,64}$/.test(value)) facts.dataSource ??= value;
  }
  return facts;
}

function spanOf(text: string | null | undefined): { spanId?: string } {
  return text && /^[0-9a-f]{16}$/i.test(text) ? { spanId: text.toLowerCase() } : {};
}
