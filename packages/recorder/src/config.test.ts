import { describe, expect, it } from 'vitest';
import { readConfig, type RecorderConfig } from './config.ts';

function read(env: Record<string, string>): { config: RecorderConfig; warnings: string[] } {
  const warnings: string[] = [];
  return {
    config: readConfig(
      env,
      (variable) => warnings.push(variable),
      () => '/srv',
    ),
    warnings,
  };
}

describe('the mode', () => {
  const cases: [string, Record<string, string>, Partial<RecorderConfig>][] = [
    [
      'is local without an endpoint',
      {},
      { mode: 'local', keepsBodies: true, keepsFiles: true, dir: '/srv/.orangebox' },
    ],
    [
      'is split with a payload endpoint',
      { ORANGEBOX_ENDPOINT: 'https://box.example.test/' },
      { mode: 'split', endpoint: 'https://box.example.test' },
    ],
    [
      'is inline where the transport says so, with bodies and keys, for whatever endpoint the spans have',
      { ORANGEBOX_TRANSPORT: 'inline', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel.example.test' },
      { mode: 'inline', keepsBodies: true, keepsFiles: true },
    ],
    [
      'is metadata with the inline transport at that level',
      { ORANGEBOX_TRANSPORT: 'inline', ORANGEBOX_LEVEL: 'metadata' },
      { mode: 'metadata', keepsBodies: false },
    ],
    [
      'is metadata without files with an OTLP endpoint alone',
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel.example.test' },
      { mode: 'metadata', keepsBodies: false, keepsFiles: false },
    ],
    [
      'is local again where a directory is named',
      { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://otel.example.test', ORANGEBOX_DIR: 'box' },
      { mode: 'local', keepsBodies: true, keepsFiles: true, dir: '/srv/box' },
    ],
    [
      'is local where spans are switched off anyway',
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel.example.test', OTEL_SDK_DISABLED: 'true' },
      { mode: 'local', keepsBodies: true },
    ],
    [
      'keeps files but no bodies at level metadata',
      { ORANGEBOX_LEVEL: 'metadata' },
      { mode: 'metadata', keepsBodies: false, keepsFiles: true },
    ],
    ['keeps nothing at level off', { ORANGEBOX_LEVEL: 'off' }, { keepsBodies: false, keepsFiles: false }],
  ];
  it.each(cases)('%s', (_, env, expected) => {
    expect(read(env)).toMatchObject({ config: expected, warnings: [] });
  });
});

describe('the payload endpoint', () => {
  it.each([
    ['http://127.0.0.1:4319', true],
    ['http://localhost:4319', true],
    ['http://[::1]:4319', true],
    ['https://box.example.test', true],
    ['http://box.example.test', false],
    ['ftp://box.example.test', false],
    ['box', false],
  ])('%s is used: %s', (ORANGEBOX_ENDPOINT, used) => {
    const { config, warnings } = read({ ORANGEBOX_ENDPOINT });
    expect(config.endpoint !== undefined).toBe(used);
    expect(config.mode).toBe(used ? 'split' : 'local');
    expect(warnings).toEqual(used ? [] : ['ORANGEBOX_ENDPOINT']);
  });

  it('may be plain http elsewhere by consent, and gets headers of its own', () => {
    const { config } = read({
      ORANGEBOX_ENDPOINT: 'http://box.example.test',
      ORANGEBOX_INSECURE: 'true',
      ORANGEBOX_HEADERS: 'authorization=Bearer%20x, x-team = a=b',
    });
    expect(config).toMatchObject({ mode: 'split', endpointHeaders: { authorization: 'Bearer x', 'x-team': 'a=b' } });
  });
});

describe('values', () => {
  it('of sizes may have units', () => {
    const { config } = read({
      ORANGEBOX_MAX_BODY_BYTES: '1048576',
      ORANGEBOX_MEMORY_BYTES: '1.5 MiB',
      ORANGEBOX_DIR_BYTES: '2g',
    });
    expect([config.maxBodyBytes, config.memoryBytes, config.dirBytes]).toEqual([1 << 20, 1.5 * 2 ** 20, 2 * 2 ** 30]);
  });

  it('that are bad are told and replaced by the default', () => {
    const { config, warnings } = read({
      ORANGEBOX_MAX_BODY_BYTES: 'lots',
      ORANGEBOX_FSYNC: 'always',
      ORANGEBOX_HEADERS: 'x-team=a,Bearer x',
      ORANGEBOX_REDACT: '(',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    });
    expect(config).toMatchObject({
      maxBodyBytes: 64 * 2 ** 20,
      fsync: 'off',
      redactPatterns: [],
      endpointHeaders: { 'x-team': 'a' },
    });
    expect(warnings.sort()).toEqual([
      'ORANGEBOX_FSYNC',
      'ORANGEBOX_HEADERS',
      'ORANGEBOX_MAX_BODY_BYTES',
      'ORANGEBOX_REDACT',
      'OTEL_EXPORTER_OTLP_PROTOCOL',
    ]);
  });

  it('of sizes are named as one would write them', () => {
    const said: string[] = [];
    readConfig({ ORANGEBOX_DIR_BYTES: 'much' }, (_, message) => said.push(message));
    expect(said).toEqual(['ORANGEBOX_DIR_BYTES is not a size such as 64MiB; using 1024MiB']);
  });

  it('of patterns are one regular expression or a JSON array of them, none of which may match nothing', () => {
    expect(read({ ORANGEBOX_REDACT: '[a-z]{3}-\\d{4}' }).config.redactPatterns).toEqual([/[a-z]{3}-\d{4}/g]);
    expect(read({ ORANGEBOX_REDACT: '["a+", "b"]' }).config.redactPatterns).toEqual([/a+/g, /b/g]);
    expect(read({ ORANGEBOX_REDACT: '[ "a+" ]' }).config.redactPatterns).toEqual([/a+/g]);
    expect(read({ ORANGEBOX_REDACT: 'a*' })).toMatchObject({
      config: { redactPatterns: [] },
      warnings: ['ORANGEBOX_REDACT'],
    });
  });

  it('of the service come from the OpenTelemetry variables', () => {
    const { config } = read({ OTEL_RESOURCE_ATTRIBUTES: 'service.name=shop,team=a%20b' });
    expect(config).toMatchObject({ serviceName: 'shop', resource: { team: 'a b' } });
  });
});

describe('the inline transport', () => {
  it('leaves the payload endpoint alone, and says so', () => {
    const { config, warnings } = read({ ORANGEBOX_TRANSPORT: 'inline', ORANGEBOX_ENDPOINT: 'http://127.0.0.1:4319' });
    expect(config.mode).toBe('inline');
    expect(config.endpoint).toBeUndefined();
    expect(warnings).toEqual(['ORANGEBOX_ENDPOINT']);
  });

  it('is local, and says so, when there are no spans to ride on', () => {
    const { config, warnings } = read({ ORANGEBOX_TRANSPORT: 'inline', OTEL_TRACES_EXPORTER: 'none' });
    expect(config).toMatchObject({ mode: 'local', keepsBodies: true, keepsFiles: true });
    expect(warnings).toEqual(['ORANGEBOX_TRANSPORT']);
  });

  it('is not taken for anything else', () => {
    const { config, warnings } = read({ ORANGEBOX_TRANSPORT: 'inlined' });
    expect(config.mode).toBe('local');
    expect(warnings).toEqual(['ORANGEBOX_TRANSPORT']);
  });
});

describe('metrics', () => {
  it('have a private exporter only where an endpoint is set and nothing forbids it', () => {
    const exporterOf = (env: Record<string, string>): string => read(env).config.metrics.exporter;
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };
    expect(exporterOf({})).toBe('none');
    expect(exporterOf(endpoint)).toBe('otlp');
    expect(exporterOf({ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://127.0.0.1:4318/v1/metrics' })).toBe('otlp');
    expect(exporterOf({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:4318/v1/traces' })).toBe('none');
    expect(exporterOf({ ...endpoint, OTEL_METRICS_EXPORTER: 'none' })).toBe('none');
    expect(exporterOf({ ...endpoint, OTEL_METRICS_EXPORTER: 'prometheus' })).toBe('none');
    expect(exporterOf({ ...endpoint, OTEL_SDK_DISABLED: 'true' })).toBe('none');
  });

  it('are exported at the interval that is asked for, never slower than it', () => {
    const { config } = read({ OTEL_METRIC_EXPORT_INTERVAL: '1500' });
    expect(config.metrics).toMatchObject({ intervalMs: 1500, timeoutMs: 1500 });
    const bad = read({ OTEL_METRIC_EXPORT_INTERVAL: '0', OTEL_METRIC_EXPORT_TIMEOUT: 'soon' });
    expect(bad.config.metrics).toMatchObject({ intervalMs: 60_000, timeoutMs: 30_000 });
    expect(bad.warnings).toEqual(['OTEL_METRIC_EXPORT_INTERVAL', 'OTEL_METRIC_EXPORT_TIMEOUT']);
  });
});
