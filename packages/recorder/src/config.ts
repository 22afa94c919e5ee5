/** Every environment variable that the recorder reads, parsed and checked. `docs/configuration.md` is the table. */
import { resolve } from 'node:path';
import { DEFAULT_DIRECTORY, type Level, LEVELS } from '@orangebox/schema';
import { isCaptureOn, parseBytes, parsePairs, parsePositive, parseWhole } from './config-values.ts';
import type { BatchLimits } from './otel/batch-processor.ts';
import { messageOf } from './report.ts';
import { parseSample } from './sampling-config.ts';
import { KEEP_ALL, type SamplePolicy } from './sampling-policy.ts';

/**
 * Where recordings go. `inline`: each on its own span, wherever that is exported to. `metadata`: spans only, no body is
 * kept and no key is promised.
 */
export type Mode = 'local' | 'split' | 'inline' | 'metadata';

/** Parsed configuration of the recorder. */
export interface RecorderConfig {
  /** At the start; what holds for a call is in its plan. */
  level: Level;
  /** At the level of the start. */
  mode: Mode;
  /** At a level that keeps bodies. */
  bodyMode: Mode;
  /** Which calls are kept. */
  sample: SamplePolicy;
  /** Absolute directory of recordings. */
  dir: string;
  /** False where nothing at all may be written to the disk. */
  keepsFiles: boolean;
  /** At the level of the start: bodies are recorded (false: heads and timings only). */
  keepsBodies: boolean;
  /** Base URL of the payload endpoint, without trailing slash; absent when none or when it was refused. */
  endpoint?: string;
  endpointHeaders: Record<string, string>;
  maxBodyBytes: number;
  memoryBytes: number;
  dirBytes: number;
  /** Recordings older than this are removed; absent: no bound by age. */
  maxAgeMs?: number;
  /** The user's patterns, with flag `g`. */
  redactPatterns: RegExp[];
  fsync: 'off' | 'call';
  /** What earlier processes left in the directory is shipped too, where there is an endpoint. */
  recovers: boolean;
  /** Message content goes on spans (`OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`). */
  captureContent: boolean;
  otel: OtelSettings;
  metrics: MetricsSettings;
  serviceName: string;
  /** `OTEL_RESOURCE_ATTRIBUTES`, decoded. */
  resource: Record<string, string>;
}

/** What the standard OpenTelemetry variables decide. Exporters read their own variables beyond these. */
export interface OtelSettings {
  /** `OTEL_SDK_DISABLED=true` or `OTEL_TRACES_EXPORTER=none`: no spans, snapshots all the same. */
  disabled: boolean;
  /** The private provider's exporter, when there is somewhere for spans to go. */
  exporter: 'none' | 'otlp' | 'console';
  protocol: 'http/protobuf' | 'http/json';
  /** `OTEL_BSP_*`. */
  batch: BatchLimits;
  /** Values of `OTEL_SEMCONV_STABILITY_OPT_IN`. */
  semconvOptIn: string[];
  /** The smallest limit on attribute values, if one is set. */
  attributeValueLimit?: number;
  /** `OTEL_TRACES_SAMPLER`. */
  sampler?: string;
  /** `OTEL_TRACES_SAMPLER_ARG`. */
  samplerArgument?: string;
}

/** What the standard OpenTelemetry variables decide about metrics. */
export interface MetricsSettings {
  /** `OTEL_SDK_DISABLED=true` or `OTEL_METRICS_EXPORTER=none`: nothing is measured, by no provider. */
  disabled: boolean;
  /** The private provider's exporter, when there is somewhere for metrics to go. */
  exporter: 'none' | 'otlp';
  protocol: 'http/protobuf' | 'http/json';
  intervalMs: number;
  timeoutMs: number;
}

/** Bad values are told through this; the default is used instead. */
export type ConfigWarning = (variable: string, message: string) => void;

type Env = Record<string, string | undefined>;

const MIB = 1024 * 1024;
const DAY_MS = 24 * 3600_000;

/** Reads the configuration. Never throws; `warn` is called once per bad value. */
export function readConfig(env: Env, onWarning: ConfigWarning, cwd: () => string = process.cwd): RecorderConfig {
  const told = new Set<string>();
  const warn: ConfigWarning = (variable, message) => {
    // Some decide about spans and metrics, and are read for both.
    if (!told.has(variable)) onWarning(variable, message);
    told.add(variable);
  };
  const oneOf = <T extends string>(name: string, allowed: readonly T[], fallback: T): T => {
    const raw = valueOf(env, name)?.toLowerCase();
    if (raw === undefined) return fallback;
    if ((allowed as readonly string[]).includes(raw)) return raw as T;
    warn(name, `${name} is not one of ${allowed.join(', ')}; using ${fallback}`);
    return fallback;
  };
  const number = (
    name: string,
    fallback: number,
    parse: (raw: string) => number | undefined,
    what: string,
    written: string = String(fallback),
  ): number => {
    const raw = valueOf(env, name);
    if (raw === undefined) return fallback;
    const value = parse(raw);
    if (value !== undefined) return value;
    warn(name, `${name} is not ${what}; using ${written}`);
    return fallback;
  };
  const bytes = (name: string, fallback: number): number =>
    number(name, fallback, parseBytes, 'a size such as 64MiB', `${fallback / MIB}MiB`);

  const level = oneOf('ORANGEBOX_LEVEL', LEVELS, 'full');
  const otel = readOtel(env, oneOf, number);
  const endpoint = readEndpoint(env, warn);
  const dirSet = valueOf(env, 'ORANGEBOX_DIR');
  // Naming the transport is the consent by name: payloads then go wherever the spans' exporter goes.
  const isInline = oneOf('ORANGEBOX_TRANSPORT', ['split', 'inline'], 'split') === 'inline';
  if (isInline && endpoint !== undefined) {
    warn(
      'ORANGEBOX_ENDPOINT',
      'ORANGEBOX_ENDPOINT is not used: ORANGEBOX_TRANSPORT=inline sends payloads with the spans',
    );
  }
  const spansAreOff = otel.settings.disabled;
  if (isInline && spansAreOff) {
    warn(
      'ORANGEBOX_TRANSPORT',
      'ORANGEBOX_TRANSPORT=inline, but spans are switched off; recordings stay on this machine',
    );
  }
  const sendsSpansOnly =
    otel.endpointSet && !spansAreOff && endpoint === undefined && dirSet === undefined && !isInline;
  const bodyMode: Mode = sendsSpansOnly
    ? 'metadata'
    : isInline
      ? spansAreOff
        ? 'local'
        : 'inline'
      : endpoint
        ? 'split'
        : 'local';
  const mode: Mode = level === 'metadata' ? 'metadata' : bodyMode;
  const resource = parsePairs(valueOf(env, 'OTEL_RESOURCE_ATTRIBUTES') ?? '');
  const days = number('ORANGEBOX_DIR_DAYS', 30, parseWhole, 'a whole number of days');
  return {
    level,
    mode,
    bodyMode,
    sample: readSample(env, warn),
    dir: resolveDir(dirSet ?? DEFAULT_DIRECTORY, cwd),
    keepsFiles: level !== 'off' && !sendsSpansOnly,
    keepsBodies: mode !== 'metadata' && level !== 'off',
    ...(endpoint && !isInline ? { endpoint } : {}),
    endpointHeaders: readHeaders(env, warn),
    maxBodyBytes: bytes('ORANGEBOX_MAX_BODY_BYTES', 64 * MIB),
    memoryBytes: bytes('ORANGEBOX_MEMORY_BYTES', 64 * MIB),
    dirBytes: bytes('ORANGEBOX_DIR_BYTES', 1024 * MIB),
    ...(days === 0 ? {} : { maxAgeMs: days * DAY_MS }),
    redactPatterns: readPatterns(env, warn),
    fsync: oneOf('ORANGEBOX_FSYNC', ['off', 'call'], 'off'),
    recovers: oneOf('ORANGEBOX_RECOVER', ['on', 'off'], 'on') === 'on',
    captureContent: isCaptureOn(valueOf(env, 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT')),
    otel: otel.settings,
    metrics: readMetrics(env, oneOf, number),
    serviceName: valueOf(env, 'OTEL_SERVICE_NAME') ?? resource['service.name'] ?? 'unknown_service:node',
    resource,
  };
}

function valueOf(env: Env, name: string): string | undefined {
  const value = env[name]?.trim();
  return value === undefined || value === '' ? undefined : value;
}

function readOtel(
  env: Env,
  oneOf: <T extends string>(name: string, allowed: readonly T[], fallback: T) => T,
  number: (name: string, fallback: number, parse: (raw: string) => number | undefined, what: string) => number,
): { settings: OtelSettings; endpointSet: boolean } {
  const endpointSet =
    valueOf(env, 'OTEL_EXPORTER_OTLP_ENDPOINT') !== undefined ||
    valueOf(env, 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') !== undefined;
  const wanted = (valueOf(env, 'OTEL_TRACES_EXPORTER') ?? '')
    .toLowerCase()
    .split(',')
    .map((s) => s.trim());
  const disabled = valueOf(env, 'OTEL_SDK_DISABLED')?.toLowerCase() === 'true' || wanted.includes('none');
  const exporter = disabled
    ? 'none'
    : wanted.includes('otlp') || (endpointSet && !wanted.includes('console'))
      ? 'otlp'
      : wanted.includes('console')
        ? 'console'
        : 'none';
  const protocolName = valueOf(env, 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL')
    ? 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'
    : 'OTEL_EXPORTER_OTLP_PROTOCOL';
  const sampler = valueOf(env, 'OTEL_TRACES_SAMPLER');
  const samplerArgument = valueOf(env, 'OTEL_TRACES_SAMPLER_ARG');
  const limits = ['OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT', 'OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT']
    .map((name) => parseWhole(valueOf(env, name) ?? ''))
    .filter((n) => n !== undefined);
  const whole = (name: string, fallback: number): number => number(name, fallback, parsePositive, 'a whole number');
  const queueSpans = whole('OTEL_BSP_MAX_QUEUE_SIZE', 2048);
  return {
    endpointSet,
    settings: {
      disabled,
      exporter,
      protocol: oneOf(protocolName, ['http/protobuf', 'http/json'], 'http/protobuf'),
      batch: {
        queueSpans,
        batchSpans: Math.min(whole('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512), queueSpans),
        delayMs: whole('OTEL_BSP_SCHEDULE_DELAY', 5000),
        exportTimeoutMs: whole('OTEL_BSP_EXPORT_TIMEOUT', 30_000),
      },
      semconvOptIn: (valueOf(env, 'OTEL_SEMCONV_STABILITY_OPT_IN') ?? '')
        .split(',')
        .map((s) => s.trim())
        .filter(Boolean),
      ...(limits.length > 0 ? { attributeValueLimit: Math.min(...limits) } : {}),
      ...(sampler === undefined ? {} : { sampler: sampler.toLowerCase() }),
      ...(samplerArgument === undefined ? {} : { samplerArgument }),
    },
  };
}

function readMetrics(
  env: Env,
  oneOf: <T extends string>(name: string, allowed: readonly T[], fallback: T) => T,
  number: (name: string, fallback: number, parse: (raw: string) => number | undefined, what: string) => number,
): MetricsSettings {
  const wanted = (valueOf(env, 'OTEL_METRICS_EXPORTER') ?? 'otlp')
    .toLowerCase()
    .split(',')
    .map((s) => s.trim());
  const disabled = valueOf(env, 'OTEL_SDK_DISABLED')?.toLowerCase() === 'true' || wanted.includes('none');
  const endpointSet =
    valueOf(env, 'OTEL_EXPORTER_OTLP_ENDPOINT') !== undefined ||
    valueOf(env, 'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT') !== undefined;
  const protocolName = valueOf(env, 'OTEL_EXPORTER_OTLP_METRICS_PROTOCOL')
    ? 'OTEL_EXPORTER_OTLP_METRICS_PROTOCOL'
    : 'OTEL_EXPORTER_OTLP_PROTOCOL';
  const intervalMs = number('OTEL_METRIC_EXPORT_INTERVAL', 60_000, parsePositive, 'a number of milliseconds');
  const timeoutMs = number('OTEL_METRIC_EXPORT_TIMEOUT', 30_000, parsePositive, 'a number of milliseconds');
  return {
    disabled,
    exporter: !disabled && endpointSet && wanted.includes('otlp') ? 'otlp' : 'none',
    protocol: oneOf(protocolName, ['http/protobuf', 'http/json'], 'http/protobuf'),
    intervalMs,
    // The SDK refuses a reader whose exports may take longer than the time between them.
    timeoutMs: Math.min(timeoutMs, intervalMs),
  };
}

/** A payload endpoint must be http(s), and plain http only on loopback or by explicit consent. */
function readEndpoint(env: Env, warn: ConfigWarning): string | undefined {
  const raw = valueOf(env, 'ORANGEBOX_ENDPOINT');
  if (raw === undefined) return undefined;
  const url = URL.canParse(raw) ? new URL(raw) : undefined;
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    warn('ORANGEBOX_ENDPOINT', 'ORANGEBOX_ENDPOINT is not an http or https URL; recordings stay on this machine');
    return undefined;
  }
  const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (url.protocol === 'http:' && !loopback && valueOf(env, 'ORANGEBOX_INSECURE')?.toLowerCase() !== 'true') {
    warn(
      'ORANGEBOX_ENDPOINT',
      'ORANGEBOX_ENDPOINT is plain http to another machine; set ORANGEBOX_INSECURE=true to allow it. Recordings stay here',
    );
    return undefined;
  }
  return raw.replace(/\/+$/, '');
}

/** What cannot be read must not lose calls: everything is kept then. */
function readSample(env: Env, warn: ConfigWarning): SamplePolicy {
  const raw = valueOf(env, 'ORANGEBOX_SAMPLE');
  if (raw === undefined) return KEEP_ALL;
  try {
    return parseSample(raw);
  } catch (error) {
    warn('ORANGEBOX_SAMPLE', `ORANGEBOX_SAMPLE is not used (${messageOf(error)}); everything is kept`);
    return KEEP_ALL;
  }
}

/** One regular expression, or a JSON array of them. */
function readPatterns(env: Env, warn: ConfigWarning): RegExp[] {
  const raw = valueOf(env, 'ORANGEBOX_REDACT');
  if (raw === undefined) return [];
  let why = 'is no regular expression, nor a JSON array of them';
  try {
    const sources: unknown = /^\[\s*"/.test(raw) ? JSON.parse(raw) : [raw];
    if (!Array.isArray(sources) || !sources.every((s) => typeof s === 'string')) throw new Error('not strings');
    return sources.map((source) => {
      const pattern = new RegExp(source, 'g');
      if (pattern.test('')) {
        why = 'has a pattern that matches the empty text';
        throw new Error(why);
      }
      pattern.lastIndex = 0;
      return pattern;
    });
  } catch {
    warn('ORANGEBOX_REDACT', `ORANGEBOX_REDACT ${why}; nothing is replaced by it`);
    return [];
  }
}

function readHeaders(env: Env, warn: ConfigWarning): Record<string, string> {
  const raw = valueOf(env, 'ORANGEBOX_HEADERS') ?? '';
  if (raw.split(',').some((part) => part.trim() !== '' && part.indexOf('=') < 1))
    warn('ORANGEBOX_HEADERS', 'ORANGEBOX_HEADERS holds something else than name=value; it is left out');
  return parsePairs(raw);
}

/** A program whose working directory was removed has no `cwd()`; such a path can't be created and is told then. */
function resolveDir(dir: string, cwd: () => string): string {
  try {
    return resolve(cwd(), dir);
  } catch {
    return resolve('/nonexistent', dir);
  }
}
