/** What a run is: its program, arguments and environment, as far as a recording may know. */
import { createHash, createHmac, randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import { hostname } from 'node:os';
import { basename, join, relative, resolve } from 'node:path';
import { threadId } from 'node:worker_threads';
import { DEFAULT_DIRECTORY, type RunStartRecord } from '@orangebox/schema';
import { KEY_BYTES, KEY_FILE } from './command-signature.ts';

/** Variables whose values are no secrets and decide how programs behave. */
const OPEN_VARIABLES: ReadonlySet<string> = new Set([
  'TZ',
  'LANG',
  'LANGUAGE',
  'LC_ALL',
  'LC_CTYPE',
  'LC_COLLATE',
  'LC_MESSAGES',
  'LC_MONETARY',
  'LC_NUMERIC',
  'LC_TIME',
  'NODE_ENV',
  'NO_COLOR',
  'FORCE_COLOR',
  'COLUMNS',
  'LINES',
  'CI',
]);
/** Ours, and what differs from one shell to the next without a meaning. */
const PASSED_OVER = /^(?:ORANGEBOX_.*|NODE_OPTIONS|_|SHLVL|PWD|OLDPWD)$/;
const MAX_ENTRY_BYTES = 64 * 1024 * 1024;

type Env = Readonly<Record<string, string | undefined>>;

/** What stands beside the place in the order: all of it but ids. */
export type RunFacts = Omit<RunStartRecord, 'type' | 'runId' | 'parentRunId' | 'startUnixNano'>;

/** Reads the facts. `open`: more names of variables whose values may be recorded; `directory`: of recordings. */
export function runFacts(env: Env, open: readonly string[], directory: string = DEFAULT_DIRECTORY): RunFacts {
  const cwd = process.cwd();
  const [, entry, ...args] = process.argv;
  const key = environmentKey(resolve(cwd, directory));
  const entryDigest = entry === undefined ? undefined : digestOf(entry);
  return {
    threadId,
    argv: [...(entry === undefined ? [] : [relative(cwd, entry)]), ...args],
    execArgv: [...process.execArgv],
    execPath: basename(process.execPath),
    cwdHash: keyed(key, cwd),
    cwd,
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
    pid: process.pid,
    ppid: process.ppid,
    hostname: hostname(),
    environment: environmentFacts(env, open, key),
    ...(entryDigest === undefined ? {} : { entryDigest }),
  };
}

function environmentFacts(env: Env, open: readonly string[], key: Buffer): RunStartRecord['environment'] {
  const facts: RunStartRecord['environment'] = { values: {}, hashes: {} };
  for (const name of Object.keys(env).sort()) {
    const value = env[name];
    if (value === undefined || PASSED_OVER.test(name)) continue;
    if (OPEN_VARIABLES.has(name) || open.includes(name)) facts.values[name] = value;
    else facts.hashes[name] = keyed(key, value);
  }
  return facts;
}

function keyed(key: Buffer, value: string): string {
  return createHmac('sha256', key).update(value).digest('hex').slice(0, 32);
}

/**
 * The key stays in the directory of recordings and is in no recording: who has a recording alone cannot try values. Without
 * a place for it, hashes of this run can be compared with nothing.
 */
export function environmentKey(directory: string): Buffer {
  const path = join(directory, KEY_FILE);
  try {
    fs.mkdirSync(directory, { recursive: true, mode: 0o700 });
    try {
      fs.writeFileSync(path, randomBytes(KEY_BYTES), { flag: 'wx', mode: 0o600 });
    } catch {
      // It is there.
    }
    const key = fs.readFileSync(path);
    if (key.length === KEY_BYTES) return key;
  } catch {
    // A directory that cannot be made is told of where records are written.
  }
  return randomBytes(KEY_BYTES);
}

function digestOf(entry: string): string | undefined {
  for (const path of [entry, `${entry}.js`, `${entry}.mjs`, `${entry}.cjs`]) {
    try {
      if (!fs.statSync(path).isFile() || fs.statSync(path).size > MAX_ENTRY_BYTES) continue;
      return createHash('sha256').update(fs.readFileSync(path)).digest('hex');
    } catch {
      // Not this one.
    }
  }
  return undefined;
}
