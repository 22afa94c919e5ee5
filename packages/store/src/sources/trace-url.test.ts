import { expect, it } from 'vitest';
import { parseTraceUrl } from './trace-url.ts';

const T = '00000000000000000a1b2c3d4e5f6071';
const S = '0011223344556677';
const panes = (value: unknown): string => `panes=${encodeURIComponent(JSON.stringify(value))}`;
const proxy = 'http://g/api/datasources/proxy/uid/tempo';

it.each<[string, string, string, string | undefined, string]>([
  ['Jaeger’s page', `http://j:16686/trace/${T}`, 'jaeger', undefined, 'http://j:16686'],
  ['Jaeger’s page of a span', `http://j:16686/trace/${T}?uiFind=${S.toUpperCase()}`, 'jaeger', S, 'http://j:16686'],
  [
    'below a base path',
    `https://o.example/jaeger/ui/trace/${T}/?uiFind=${S}#x`,
    'jaeger',
    S,
    'https://o.example/jaeger/ui',
  ],
  ['with an id without its zeros', 'http://j/trace/a1b2c3d4e5f6071', 'jaeger', undefined, 'http://j'],
  ['with a search text that is no span', `http://j/trace/${T}?uiFind=error`, 'jaeger', undefined, 'http://j'],
  ['behind #', `http://j/ui/#/trace/${T}?uiFind=${S}`, 'jaeger', S, 'http://j/ui'],
  ['with credentials', `http://me:pw@j/trace/${T}`, 'jaeger', undefined, 'http://j'],
  ['Jaeger’s old API', `http://j/api/traces/${T}?prettyPrint=true`, 'api', undefined, 'http://j'],
  ['Jaeger’s API v3', `http://j/base/api/v3/traces/${T}`, 'api', undefined, 'http://j/base'],
  ['Tempo’s API v2', `http://t:3200/api/v2/traces/${T}`, 'api', undefined, 'http://t:3200'],
  ['Tempo’s API behind Grafana', `${proxy}/api/traces/${T}`, 'api', undefined, proxy],
  ['our page', `http://127.0.0.1:4331/t/${T}/${S}`, 'page', S, 'http://127.0.0.1:4331'],
  ['our page of a trace', `http://127.0.0.1:4331/t/${T}/`, 'page', undefined, 'http://127.0.0.1:4331'],
  [
    'Grafana Explore',
    `http://g/explore?schemaVersion=1&${panes({ a: { datasource: 'tempo', queries: [{ refId: 'A', query: T, queryType: 'traceql' }], range: {}, panelsState: { trace: { spanId: S } } } })}&orgId=1`,
    'grafana',
    S,
    proxy,
  ],
  [
    'Grafana Explore with a search on its left',
    `http://g/sub/explore?${panes({ l: { datasource: 'prom', queries: [{ query: '{ name = "x" }' }] }, r: { datasource: 'tempo', queries: [{ query: 'a1b2c3d4e5f6071' }] } })}`,
    'grafana',
    undefined,
    'http://g/sub/api/datasources/proxy/uid/tempo',
  ],
  [
    'Grafana Explore whose data source stands in the query',
    `http://g/explore?${panes({ a: { queries: [{ datasource: { type: 'tempo', uid: 'tempo' }, traceId: T }] } })}`,
    'grafana',
    undefined,
    proxy,
  ],
  [
    'Grafana’s old Explore',
    `http://g/explore?left=${encodeURIComponent(JSON.stringify({ datasource: 'tempo', queries: [{ query: T }], panelsState: { trace: { spanId: S } } }))}`,
    'grafana',
    S,
    proxy,
  ],
  [
    'Grafana’s oldest Explore',
    `http://g/explore?left=${encodeURIComponent(JSON.stringify(['now-1h', 'now', 'Tempo', { query: T }]))}`,
    'grafana',
    undefined,
    'http://g',
  ],
  [
    'a right pane',
    `http://g/explore?left={}&right=${encodeURIComponent(JSON.stringify({ queries: [{ query: T }] }))}`,
    'grafana',
    undefined,
    'http://g',
  ],
  ['a dashboard of Grafana', `http://g/d/abc/name?viewPanel=3&var-traceId=${T}&spanId=${S}`, 'grafana', S, 'http://g'],
  [
    'Grafana’s traces application',
    `http://g/a/grafana-exploretraces-app/explore?traceId=${T}&spanId=${S}`,
    'grafana',
    S,
    'http://g',
  ],
])('takes %s apart', (_what, text, page, spanId, base) => {
  expect(parseTraceUrl(text)).toEqual({ page, traceId: T, ...(spanId === undefined ? {} : { spanId }), base });
});

it.each([
  '',
  'trace/abc',
  'http://',
  `ftp://j/trace/${T}`,
  'http://j/search?service=x',
  'http://j/trace/',
  `http://j/trace/${T}0`,
  `http://j/trace/${'0'.repeat(32)}`,
  `http://j/trace/${T}...${T}`,
  'http://j/trace/..%2f..%2fetc',
  `http://j/t/a1b2/${S}`,
  'http://g/explore?panes=%7B',
  'http://g/explore?panes=[[[[[]]]]]&left=null&right=3',
  `http://g/explore?${panes({ a: { queries: [{ query: 'rate(x[5m])' }] } })}`,
  `http://g/explore?left=${'['.repeat(20_000)}${']'.repeat(20_000)}`,
  `http://g/d/x?traceId=${'f'.repeat(70_000)}`,
  `http://j/other?traceId=${T}`,
])('takes no trace from %j', (text) => {
  expect(parseTraceUrl(text)).toBeUndefined();
});
