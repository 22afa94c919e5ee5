/** The shipped collector configurations as files: each starts as it is, alone and under every overlay, and none strays from the others. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { inRepository } from '../../helpers/repository.ts';
import { shippedConfig } from './pipeline.ts';
import { validateConfig } from './servers/index.ts';

type Section = Record<string, Record<string, unknown>>;
interface Config {
  extensions: Section;
  receivers: Section;
  processors: Section;
  connectors: Section;
  exporters: Section;
  service: { pipelines: Record<string, { receivers: string[]; processors: string[]; exporters: string[] | string }> };
}

const OVERLAYS = ['tail-sampling'];
const names = readdirSync(inRepository('collector-config'))
  .filter((file) => file.endsWith('.yaml'))
  .map((file) => file.replace('.yaml', ''));
const complete = names.filter((name) => !OVERLAYS.includes(name));
/** Cannot be built here: what is said of its options is compared with what the exporter publishes. */
const NOT_RUN = 'awss3';
const runnable = complete.filter((name) => name !== NOT_RUN);
const textOf = (name: string): string => readFileSync(shippedConfig(name), 'utf8');
const read = (name: string): Config => parse(textOf(name)) as Config;

const scratch = mkdtempSync(join(tmpdir(), 'orangebox-configs-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

it('there are the six configurations and the overlay', () => {
  expect(complete).toEqual(['awss3', 'collector', 'file', 'inline', 'one-port', 'queue']);
  expect(names.length).toBe(complete.length + OVERLAYS.length);
});

describe.each(runnable)('%s.yaml', (name) => {
  it('is valid with nothing set', async () => {
    expect(await validateConfig(shippedConfig(name))).toBe('');
  });

  it('is valid with every overlay', async () => {
    expect(await validateConfig([name, ...OVERLAYS].map(shippedConfig))).toBe('');
  });

  it('sends traces to the backends that are named, and to no others', async () => {
    const both = { ORANGEBOX_TRACE_EXPORTERS: '[otlp_http/jaeger, otlp_http/tempo]' };
    expect(await validateConfig(shippedConfig(name), both)).toBe('');
    expect(await validateConfig(shippedConfig(name), { ORANGEBOX_TRACE_EXPORTERS: '[otlp_http/nowhere]' })).toContain(
      'nowhere',
    );
  });
});

/** Members that a configuration has for a reason of its own. */
const OWN: Record<string, string[]> = {
  'one-port': ['otlp'],
  inline: ['otlp', 'filter/key', 'otlp_http/archiver', 'otlp_http/jaeger', 'otlp_http/tempo'],
  queue: ['otlp_http/archiver', 'otlp_http/jaeger', 'otlp_http/tempo'],
};

it.each(complete)('%s.yaml says the same as collector.yaml in what both have', (name) => {
  const [own, base] = [read(name), read('collector')];
  for (const section of ['extensions', 'receivers', 'processors', 'connectors', 'exporters'] as const) {
    for (const [id, value] of Object.entries(own[section])) {
      if (id in base[section] && !OWN[name]?.includes(id)) expect([id, value]).toEqual([id, base[section][id]]);
    }
  }
});

it.each(complete)('%s.yaml lets nothing reach a trace backend or the store past its guard', (name) => {
  const { pipelines } = read(name).service;
  expect(pipelines['traces/metadata']?.processors).toEqual(['memory_limiter', 'filter/strip', 'attributes/strip']);
  expect(pipelines['traces/backends']?.receivers).toEqual(['forward/backends']);
  expect(pipelines['traces/gen_ai']?.receivers).toEqual(['forward/gen_ai']);
  expect(pipelines['traces/payload']?.processors.slice(0, 2)).toEqual(['memory_limiter', 'filter/key']);
  const fromOutside = Object.entries(pipelines).filter(([, { receivers }]) =>
    receivers.some((r) => r.startsWith('otlp')),
  );
  expect(fromOutside.map(([id]) => id).sort()).toEqual(['metrics', 'traces/metadata', 'traces/payload']);
});

it.each(names)('%s.yaml names no machine, no host and no port that cannot be changed', (name) => {
  const fixed = textOf(name)
    .split('\n')
    .filter((line) => !line.trim().startsWith('#'))
    .join('\n')
    .replace(/\$\{env:[A-Z0-9_]+:-[^}]*\}/g, '');
  expect(fixed).not.toMatch(/\d+\.\d+\.\d+\.\d+|localhost|:\/\/|\$\{env/);
  expect(fixed.match(/:\d{4,5}\b/g)).toBeNull();
});

it.each(names)('every variable of %s.yaml is in the README', (name) => {
  const readme = readFileSync(inRepository('collector-config/README.md'), 'utf8');
  const variables = new Set([...textOf(name).matchAll(/\$\{env:([A-Z0-9_]+)/g)].map(([, variable]) => variable));
  expect([...variables].filter((variable) => !readme.includes(`\`${variable}\``))).toEqual([]);
});

describe('awss3.yaml, whose exporter cannot be built here', () => {
  /** Options of the exporter `awss3` as published with 0.161, by hand. */
  const OPTIONS = {
    exporter: [
      'marshaler',
      'encoding',
      'encoding_file_extension',
      'timeout',
      'resource_attrs_to_s3',
      'retry_on_failure',
      'sending_queue',
      's3uploader',
    ],
    resource_attrs_to_s3: ['s3_bucket', 's3_prefix'],
    s3uploader: [
      'acl',
      'compression',
      'disable_ssl',
      'endpoint',
      'external_id',
      'file_prefix',
      'region',
      'retry_max_attempts',
      'retry_max_backoff',
      'retry_mode',
      'role_arn',
      's3_base_prefix',
      's3_bucket',
      's3_force_path_style',
      's3_partition_format',
      's3_partition_timezone',
      's3_prefix',
      'storage_class',
      'unique_key_func_name',
    ],
  };
  const exporter = read(NOT_RUN).exporters['awss3/payload'] as Record<string, Record<string, unknown>>;

  it('has only options that the exporter publishes', () => {
    const unknown = (value: object, known: readonly string[]): string[] =>
      Object.keys(value).filter((option) => !known.includes(option));
    expect(unknown(exporter, OPTIONS.exporter)).toEqual([]);
    expect(unknown(exporter['s3uploader'] ?? {}, OPTIONS.s3uploader)).toEqual([]);
    expect(unknown(exporter['resource_attrs_to_s3'] ?? {}, OPTIONS.resource_attrs_to_s3)).toEqual([]);
  });

  it('keeps what was proven by hand: the key as prefix, nothing between it and a name that cannot collide, no queue, no retry', () => {
    expect(exporter).toMatchObject({
      marshaler: 'otlp_proto',
      timeout: '60s',
      resource_attrs_to_s3: { s3_prefix: 'orangebox.snapshot.key' },
      retry_on_failure: { enabled: false },
      sending_queue: { enabled: false },
      s3uploader: { s3_partition_format: '', unique_key_func_name: 'uuidv7', compression: 'none' },
    });
  });

  it('is valid but for that exporter', async () => {
    const config = read(NOT_RUN);
    delete config.exporters['awss3/payload'];
    config.exporters['nop/payload'] = {};
    const payload = config.service.pipelines['traces/payload'];
    expect(payload?.exporters).toEqual(['awss3/payload']);
    if (payload) payload.exporters = ['nop/payload'];
    const file = join(scratch, 'without-awss3.yaml');
    writeFileSync(file, stringify(config));
    expect(await validateConfig(file)).toBe('');
    expect(await validateConfig(shippedConfig(NOT_RUN))).toContain('unknown type: "awss3"');
  });

  it('says in its header that it is not run here', () => {
    expect(textOf(NOT_RUN).split('\nextensions:')[0]).toContain('Not run by the tests of this repository');
  });
});
