/** Grafana, Prometheus, Tempo and Jaeger settings without these programs: their form, and that they fit each other and the services. */
import { readFileSync } from 'node:fs';
import { ATTR } from '@orangebox/schema';
import { SNAPSHOT_PAGE_PORT } from '@orangebox/server';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { routeOf } from '../../packages/server/src/page/answers.ts';
import { inRepository } from '../helpers/repository.ts';
import { deployText, readCompose } from './compose-file.ts';
import { type Dashboard, panelsOf, readDashboard } from './dashboard-file.ts';

const compose = readCompose();

interface DataSource {
  name: string;
  uid: string;
  type: string;
  url: string;
  isDefault?: boolean;
  jsonData?: {
    tracesToMetrics?: { datasourceUid: string; queries: { query: string }[] };
    exemplarTraceIdDestinations?: { datasourceUid: string }[];
  };
  correlations?: {
    type: string;
    label: string;
    description: string;
    config: { field: string; target: { url: string } };
  }[];
}

const dataSources = (
  parse(deployText('grafana/provisioning/datasources/orangebox.yaml')) as { datasources: DataSource[] }
).datasources;

/** Host and port of a URL that one service has for another. */
function expectService(url: string): void {
  const { hostname } = new URL(url);
  expect(compose.services, url).toHaveProperty(hostname);
}

describe('the Grafana dashboard', () => {
  const dashboard: Dashboard = readDashboard();
  const panels = panelsOf(dashboard);

  it('has panels with ids, titles and places of their own', () => {
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    const cells = new Set<string>();
    for (const { title, gridPos } of dashboard.panels) {
      expect(title).not.toBe('');
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect(cells.has(`${x},${y}`), `${title} lies over another panel`).toBe(false);
          cells.add(`${x},${y}`);
        }
      }
    }
  });

  it('asks only data sources that are provisioned', () => {
    const known = new Set(dataSources.map(({ uid }) => uid));
    const asked = [...JSON.stringify(dashboard).matchAll(/"datasource":\{[^}]*"uid":"([^"]+)"/g)].map(([, uid]) => uid);
    expect(asked.length).toBeGreaterThan(panels.length);
    for (const uid of asked) expect(known).toContain(uid);
  });

  it('has a query and an explanation in every panel, and each query a reference of its own', () => {
    for (const { title, description, targets } of panels) {
      expect(description, title).toBeTruthy();
      expect(targets.length, title).toBeGreaterThan(0);
      expect(new Set(targets.map(({ refId }) => refId)).size, title).toBe(targets.length);
      for (const { expr } of targets) expect(expr, title).not.toBe('');
    }
  });

  it('uses only variables that it defines', () => {
    const defined = new Set(['__rate_interval', ...dashboard.templating.list.map(({ name }) => name)]);
    for (const { targets } of panels) {
      for (const { expr } of targets) {
        for (const [, name] of expr.matchAll(/\$\{?(\w+)/g)) expect(defined, expr).toContain(name);
      }
    }
  });
});

describe('the Grafana data sources', () => {
  it('are services of the compose file, and one of them is the default', () => {
    for (const { url } of dataSources) expectService(url);
    expect(dataSources.filter(({ isDefault }) => isDefault).map(({ uid }) => uid)).toEqual(['prometheus']);
  });

  it('refer to each other by names that are there', () => {
    const known = new Set(dataSources.map(({ uid }) => uid));
    for (const { jsonData } of dataSources) {
      if (jsonData?.tracesToMetrics) expect(known).toContain(jsonData.tracesToMetrics.datasourceUid);
      for (const { datasourceUid } of jsonData?.exemplarTraceIdDestinations ?? [])
        expect(known).toContain(datasourceUid);
    }
  });

  it('escape every dollar that Grafana itself is to see', () => {
    const text = deployText('grafana/provisioning/datasources/orangebox.yaml').replace(/^\s*#.*$/gm, '');
    expect(text.replaceAll('$$', '')).not.toContain('$');
  });

  it('link each span to its snapshot', () => {
    const links = dataSources.flatMap(({ correlations }) => correlations ?? []);
    // Label and description are read without a check by Grafana's provisioning: both must be there.
    for (const { label, description } of links) expect(label && description).toBeTruthy();
    expect(links.map(({ type, config }) => [type, config.target.url])).toEqual([
      // biome-ignore lint: the dollars are Grafana's.
      ['external', 'http://localhost:4331/t/$${traceID}/$${spanID}'],
    ]);
  });

  it('have dashboards provisioned from the folder that the compose file mounts', () => {
    const { providers } = parse(deployText('grafana/provisioning/dashboards/orangebox.yaml')) as {
      providers: { options: { path: string } }[];
    };
    for (const { options } of providers) {
      expect(compose.services['grafana']?.volumes).toContain(`./grafana/dashboards:${options.path}:ro`);
    }
  });
});

describe('the links of the Jaeger UI', () => {
  interface LinkPattern {
    type: string | string[];
    key?: string;
    url: string;
    text: string;
  }
  const { linkPatterns } = JSON.parse(deployText('jaeger/ui.json')) as { linkPatterns: LinkPattern[] };
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const spanId = 'b7ad6b7169203331';
  const values: Record<string, string> = {
    traceID: traceId,
    'trace.traceID': traceId,
    'orangebox.snapshot.key': `v1/20260301/${traceId}/${spanId}/0123456789abcdef`,
  };
  /** As the UI does it: every value is escaped, and a pattern with a value that is not known makes no link. */
  const filledIn = (url: string): URL =>
    new URL(url.replace(/#\{([^{}]*)\}/g, (_whole, name: string) => encodeURIComponent(values[name] ?? 'UNKNOWN')));

  it('lead from a span to its call, and from a trace to its calls, on the snapshot page', () => {
    const routes = linkPatterns.map(({ type, url }) => [type, routeOf(filledIn(url).pathname)]);
    expect(routes).toMatchObject([
      [['attributes', 'tags'], { kind: 'call', traceId, spanId }],
      ['traces', { kind: 'trace', traceId }],
    ]);
    for (const { url } of linkPatterns) expect(filledIn(url).origin).toBe(`http://localhost:${SNAPSHOT_PAGE_PORT}`);
  });

  it('are on the attribute that tells of a snapshot', () => {
    expect(linkPatterns[0]?.key).toBe(ATTR.snapshotKey);
  });
});

describe('the other settings', () => {
  it('let Prometheus scrape ports that the services open', () => {
    const { scrape_configs: jobs } = parse(deployText('prometheus/prometheus.yml')) as {
      scrape_configs: { job_name: string; static_configs: { targets: string[] }[] }[];
    };
    const collector = readFileSync(inRepository('collector-config/collector.yaml'), 'utf8');
    const open: Record<string, string> = {
      METRICS: /ORANGEBOX_METRICS_PORT:-(\d+)/.exec(collector)?.[1] ?? '',
      TELEMETRY: /ORANGEBOX_TELEMETRY_PORT:-(\d+)/.exec(collector)?.[1] ?? '',
    };
    const targets = jobs.flatMap(({ static_configs: configs }) => configs.flatMap((config) => config.targets));
    expect(targets).toEqual([`collector:${open['METRICS']}`, `collector:${open['TELEMETRY']}`, 'archiver:4330']);
    for (const target of targets) expectService(`http://${target}`);
  });

  it('let Tempo keep long attributes whole, where its disk is writable, and report nothing to its makers', () => {
    const tempo = parse(deployText('tempo/tempo.yaml')) as Record<string, Record<string, unknown>>;
    expect(tempo['distributor']?.['max_attribute_bytes']).toBeGreaterThan(64 * 1024);
    expect(tempo['usage_report']?.['reporting_enabled']).toBe(false);
    const paths = [...JSON.stringify(tempo).matchAll(/"(\/[^"]+)"/g)].map(([, path]) => path ?? '');
    expect(paths).toHaveLength(5);
    const writable = (compose.services['tempo']?.tmpfs ?? []).map((entry) => entry.split(':')[0]);
    for (const path of paths)
      expect(
        writable.some((folder) => path.startsWith(`${folder}/`)),
        path,
      ).toBe(true);
  });

  it('let Jaeger listen where the collector and the reader ask, and not trace itself', () => {
    const jaeger = parse(deployText('jaeger/jaeger.yaml')) as {
      receivers: { otlp: { protocols: { http: { endpoint: string } } } };
      extensions: { jaeger_query: { http: { endpoint: string }; ui: { config_file: string } } };
      service: { telemetry: { traces: { level: string } } };
    };
    const port = new URL(compose.services['collector']?.environment?.['ORANGEBOX_JAEGER_URL'] ?? '').port;
    expect(jaeger.receivers.otlp.protocols.http.endpoint).toBe(`0.0.0.0:${port}`);
    expect(jaeger.extensions.jaeger_query.http.endpoint).toBe('0.0.0.0:16686');
    expect(jaeger.service.telemetry.traces.level).toBe('none');
    expect(compose.services['jaeger']?.volumes).toContain(
      `./jaeger/ui.json:${jaeger.extensions.jaeger_query.ui.config_file}:ro`,
    );
  });
});
