/** All environment variables that the preload reads, in one place. A bad value warns once and falls back. */
import { type Level, LEVELS, parseLevel } from '@orangebox/schema';
import { createUrlFilter, type UrlFilter } from './url-filter.ts';

/** Configuration of the taps and the preload. */
export interface InstrumentConfig {
  /** `ORANGEBOX_LEVEL`; `off` leaves the process untouched, the rest is the recorder's. */
  level: Level;
  /** `ORANGEBOX_INCLUDE` and `ORANGEBOX_EXCLUDE`. */
  urls: UrlFilter;
  /** `ORANGEBOX_EXIT_FLUSH_MS`: how long a signal or the end of the event loop may be used for flushing. */
  exitFlushMs: number;
  /** `ORANGEBOX_RUN_REPORT`: file for `orangebox run`, written at exit. Not for people. */
  runReport: string | undefined;
  /** `ORANGEBOX_MODE`: `run` records what is needed to run the whole program again. */
  mode: 'calls' | 'run';
  /** `ORANGEBOX_RUN_ENV`: names of variables whose values a run's recording may hold, besides those of its own list. */
  runEnvironment: readonly string[];
  /** `ORANGEBOX_DIR`: where recordings go, whose key hashes what the environment holds. */
  runDirectory: string | undefined;
  /** `ORANGEBOX_RUN_ID`: the number that `orangebox run` gave this run. */
  runId: string | undefined;
  /** `ORANGEBOX_RUN_PARENT`: the run whose child process this is. */
  runParent: string | undefined;
}

const DEFAULT_EXIT_FLUSH_MS = 500;
const MAX_EXIT_FLUSH_MS = 60_000;

/** Reads the configuration. `warn` gets one line for each value that is not understood. */
export function readInstrumentConfig(
  env: { readonly [name: string]: string | undefined },
  warn: (message: string) => void,
): InstrumentConfig {
  return {
    level: readLevel(env['ORANGEBOX_LEVEL'], warn),
    urls: createUrlFilter(env['ORANGEBOX_INCLUDE'], env['ORANGEBOX_EXCLUDE'], warn),
    exitFlushMs: readExitFlush(env['ORANGEBOX_EXIT_FLUSH_MS'], warn),
    runReport: env['ORANGEBOX_RUN_REPORT'] || undefined,
    mode: readMode(env['ORANGEBOX_MODE'], warn),
    runEnvironment: (env['ORANGEBOX_RUN_ENV'] ?? '')
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== ''),
    runDirectory: env['ORANGEBOX_DIR']?.trim() || undefined,
    runId: runIdOf(env['ORANGEBOX_RUN_ID']),
    runParent: runIdOf(env['ORANGEBOX_RUN_PARENT']),
  };
}

function readLevel(text: string | undefined, warn: (message: string) => void): Level {
  if (!text?.trim()) return 'full';
  const level = parseLevel(text);
  if (level) return level;
  warn(`ORANGEBOX_LEVEL=${JSON.stringify(text)} is not one of ${LEVELS.join(', ')}; using full`);
  return 'full';
}

function readMode(text: string | undefined, warn: (message: string) => void): InstrumentConfig['mode'] {
  const word = text?.trim().toLowerCase() ?? '';
  if (word === 'run') return 'run';
  if (word !== '' && word !== 'calls')
    warn(`ORANGEBOX_MODE=${JSON.stringify(text)} is not one of calls, run; using calls`);
  return 'calls';
}

function runIdOf(text: string | undefined): string | undefined {
  return text !== undefined && /^run-[0-9a-f]{12}$/.test(text) ? text : undefined;
}

function readExitFlush(text: string | undefined, warn: (message: string) => void): number {
  if (text === undefined || text.trim() === '') return DEFAULT_EXIT_FLUSH_MS;
  const value = Number(text);
  if (Number.isFinite(value) && value >= 0 && value <= MAX_EXIT_FLUSH_MS) return value;
  warn(
    `ORANGEBOX_EXIT_FLUSH_MS=${JSON.stringify(text)} is not a number of milliseconds up to ${MAX_EXIT_FLUSH_MS}; using ${DEFAULT_EXIT_FLUSH_MS}`,
  );
  return DEFAULT_EXIT_FLUSH_MS;
}
