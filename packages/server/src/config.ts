/**
 * Every option and environment variable that the archiver reads, parsed and checked. `docs/archiver.md` is the table. Other
 * than in a recorded program a bad value ends it: a service that starts with other bounds than were meant is found too late.
 */
import { readFileSync } from 'node:fs';
import { OrangeboxError } from '@orangebox/schema';
import type { ArchiverTls } from './archiver/archiver.ts';
import { type ArchiverLimits, DEFAULT_LIMITS } from './archiver/limits.ts';

/** Options of `orangebox archive`, as typed. Each wins over its variable. */
export interface ArchiveFlags {
  store?: string | undefined;
  listen?: string | undefined;
  tokenFile?: string | undefined;
  tlsCert?: string | undefined;
  tlsKey?: string | undefined;
  tlsClientCa?: string | undefined;
  metricsPublic?: boolean | undefined;
  memoryBytes?: string | undefined;
  maxRequestBytes?: string | undefined;
  maxConnections?: string | undefined;
  writes?: string | undefined;
  /** False leaves the index to `--reindex`. */
  index?: boolean | undefined;
}

/** Parsed configuration of the archiver. */
export interface ArchiveConfig {
  /** `s3://bucket/prefix` or a directory. */
  store: string;
  host: string;
  port: number;
  tokens: string[];
  tls?: ArchiverTls;
  metricsPublic: boolean;
  writesIndex: boolean;
  limits: Partial<ArchiverLimits>;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Port of the archiver where none is named. */
export const ARCHIVER_PORT = 4330;

/**
 * Reads the configuration.
 *
 * @throws OrangeboxError `OBX_ARCHIVE_CONFIG`.
 */
export function readArchiveConfig(env: Env, flags: ArchiveFlags = {}): ArchiveConfig {
  const setting = (flag: string | undefined, variable: string): string | undefined =>
    (flag ?? env[variable])?.trim() || undefined;
  const store = readStore(env, flags);
  const { host, port } = parseListen(setting(flags.listen, 'ORANGEBOX_ARCHIVE_LISTEN') ?? `127.0.0.1:${ARCHIVER_PORT}`);
  const limits: Partial<ArchiverLimits> = {};
  const bound = (
    name: 'memoryBytes' | 'requestBytes' | 'connections' | 'writes',
    variable: string,
    option: 'memoryBytes' | 'maxRequestBytes' | 'maxConnections' | 'writes',
    unit: Unit,
    [min, max]: readonly [min: number, max: number],
  ): void => {
    const flag = flags[option];
    const text = setting(flag, variable);
    if (text === undefined) return;
    const value = unit.parse(text);
    if (value === undefined || value < min || value > max) {
      const typed = flag === undefined ? variable : `--${option.replaceAll(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)}`;
      throw bad(
        `${typed} must be from ${unit.format(min)} to ${unit.format(max)}`,
        `leave it out for ${unit.format(DEFAULT_LIMITS[name])}`,
      );
    }
    limits[name] = value;
  };
  const [mib, gib] = [1024 ** 2, 1024 ** 3];
  bound('memoryBytes', 'ORANGEBOX_ARCHIVE_MEMORY_BYTES', 'memoryBytes', BYTES, [32 * mib, 64 * gib]);
  bound('requestBytes', 'ORANGEBOX_ARCHIVE_MAX_REQUEST_BYTES', 'maxRequestBytes', BYTES, [64 * 1024, gib]);
  bound('connections', 'ORANGEBOX_ARCHIVE_MAX_CONNECTIONS', 'maxConnections', WHOLE, [1, 100_000]);
  bound('writes', 'ORANGEBOX_ARCHIVE_WRITES', 'writes', WHOLE, [1, 1024]);

  const tls = readTls(
    setting(flags.tlsCert, 'ORANGEBOX_ARCHIVE_TLS_CERT'),
    setting(flags.tlsKey, 'ORANGEBOX_ARCHIVE_TLS_KEY'),
    setting(flags.tlsClientCa, 'ORANGEBOX_ARCHIVE_TLS_CLIENT_CA'),
  );
  return {
    store,
    host,
    port,
    tokens: readTokens(env['ORANGEBOX_ARCHIVE_TOKEN'], setting(flags.tokenFile, 'ORANGEBOX_ARCHIVE_TOKEN_FILE')),
    ...(tls === undefined ? {} : { tls }),
    metricsPublic: flags.metricsPublic ?? isOn(env['ORANGEBOX_ARCHIVE_METRICS_PUBLIC']),
    writesIndex: flags.index !== false && !isOff(env['ORANGEBOX_ARCHIVE_INDEX']),
    limits,
  };
}

/**
 * The store that is named, for the archiver and for a reindex.
 *
 * @throws OrangeboxError `OBX_ARCHIVE_CONFIG`.
 */
export function readStore(env: Env, flags: Pick<ArchiveFlags, 'store'>): string {
  const store = (flags.store ?? env['ORANGEBOX_STORE'])?.trim();
  if (store) return store;
  throw bad('no store is named', 'set ORANGEBOX_STORE (or --store) to s3://bucket/prefix or a directory');
}

/** `HOST:PORT`, `[::1]:PORT`, `:PORT` (all addresses), a port, or a host. */
export function parseListen(text: string): { host: string; port: number } {
  const m = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]*))(?::(\d{1,5}))?$/i.exec(
    /^\d{1,5}$/.test(text) ? `127.0.0.1:${text}` : text,
  );
  const port = m?.[3] === undefined ? ARCHIVER_PORT : Number(m[3]);
  if (!m || port > 65_535)
    throw bad('the address to listen on is not HOST:PORT', 'for example 127.0.0.1:4330 or [::]:4330');
  return { host: m[1] ?? (m[2] || '0.0.0.0'), port };
}

/** Tokens of the variable (commas between) and of the file (one a line, `#` for remarks). */
function readTokens(variable: string | undefined, file: string | undefined): string[] {
  const words = (variable ?? '').split(',');
  if (file !== undefined)
    words.push(
      ...readText(file, 'token file')
        .split('\n')
        .filter((line) => !line.startsWith('#')),
    );
  const tokens = words.map((word) => word.trim()).filter((word) => word !== '');
  // What is set but holds nothing was meant to hold something; taking from anybody instead would be the worst reading.
  if (tokens.length === 0 && (file !== undefined || variable?.trim())) {
    throw bad('the token file or ORANGEBOX_ARCHIVE_TOKEN holds no token', 'put one token on a line');
  }
  // A collector unfolds `$` in the values of its environment, and would send another token than the one that is set.
  if (tokens.some((token) => !/^[\x21-\x23\x25-\x7e]+$/.test(token))) {
    throw bad(
      'a token has characters that a header, or the environment of a collector, cannot carry',
      'use letters, digits and -._~+/=',
    );
  }
  return tokens;
}

function readTls(cert?: string, key?: string, clientCa?: string): ArchiverTls | undefined {
  if (cert === undefined && key === undefined && clientCa === undefined) return undefined;
  if (cert === undefined || key === undefined) {
    throw bad('TLS needs a certificate and its key', 'name both with --tls-cert FILE and --tls-key FILE');
  }
  return {
    cert: readText(cert, 'certificate'),
    key: readText(key, 'key'),
    ...(clientCa === undefined ? {} : { clientCa: readText(clientCa, 'client CA') }),
  };
}

function readText(file: string, what: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new OrangeboxError('OBX_ARCHIVE_CONFIG', `the ${what} cannot be read`, { cause, hint: `check ${file}` });
  }
}

/** A size: a number with an optional unit, a power of 1024. */
function parseBytes(text: string): number | undefined {
  const m = /^(\d{1,12}(?:\.\d+)?)\s*(k|m|g)?(?:i?b)?$/i.exec(text);
  if (!m) return undefined;
  return Math.floor(Number(m[1]) * ({ k: 1024, m: 1024 ** 2, g: 1024 ** 3 }[(m[2] ?? '').toLowerCase()] ?? 1));
}

function parseWhole(text: string): number | undefined {
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

/** `64 KiB`; the bounds are all whole numbers of a unit. */
function formatSize(bytes: number): string {
  const [unit, name] =
    bytes >= 1024 ** 3 ? [1024 ** 3, 'GiB'] : bytes >= 1024 ** 2 ? [1024 ** 2, 'MiB'] : [1024, 'KiB'];
  return `${bytes / unit} ${name}`;
}

/** How a bound is written. */
interface Unit {
  parse: (text: string) => number | undefined;
  format: (value: number) => string;
}

const BYTES: Unit = { parse: parseBytes, format: formatSize };
const WHOLE: Unit = { parse: parseWhole, format: (value) => value.toLocaleString('en-US') };

function isOn(text: string | undefined): boolean {
  return ['1', 'true', 'yes', 'on'].includes((text ?? '').trim().toLowerCase());
}

function isOff(text: string | undefined): boolean {
  return ['0', 'false', 'no', 'off'].includes((text ?? '').trim().toLowerCase());
}

function bad(message: string, hint: string): OrangeboxError {
  return new OrangeboxError('OBX_ARCHIVE_CONFIG', message, { hint });
}
