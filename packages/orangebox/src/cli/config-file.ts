/** The config file with the named contexts. Parsed strictly: what is not understood is said, never passed over. */
import { readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { OrangeboxError } from '@orangebox/schema';
import type { CommandContext } from './context.ts';
import { errnoOf } from './exit-codes.ts';
import { type HeaderFields, isHeaderName, isHeaderValue } from './source-headers.ts';
import { nearest } from './suggest.ts';
import { escapeLine } from './text/escape.ts';

/** A named place to read from. */
export interface NamedContext {
  /** Base URL of a trace backend, or `local`. */
  source?: string;
  /** `s3://bucket/prefix`, or an absolute directory. */
  store?: string;
  s3Endpoint?: string;
  region?: string;
  /** A profile of the AWS configuration, for credentials. */
  profile?: string;
  /** Sent to the source. Secret. */
  headers?: HeaderFields;
}

/** What a config file says. */
export interface ConfigFile {
  path: string;
  exists: boolean;
  contexts: ReadonlyMap<string, NamedContext>;
  defaultContext: string | undefined;
  /** Something that should be changed, in words. */
  warning?: string;
}

const TEXT_FIELDS = ['source', 'store', 's3Endpoint', 'region', 'profile'] as const;
const CONTEXT_FIELDS: readonly string[] = [...TEXT_FIELDS, 'headers'];
const FILE_FIELDS: readonly string[] = ['contexts', 'defaultContext'];
const MAX_BYTES = 1_048_576;

/** Where the config file is, whether or not it is there. */
export function configPath({ env, cwd }: Pick<CommandContext, 'env' | 'cwd'>): string {
  if (env.configFile !== undefined) return resolve(cwd, env.configFile);
  return join(env.configHome ?? join(homedir(), '.config'), 'orangebox', 'config.json');
}

/**
 * Reads the config file; an empty one where there is none and nobody named one.
 *
 * @throws OrangeboxError `OBX_CONFIG_NOT_FOUND`, `OBX_CONFIG_UNREADABLE`, `OBX_CONFIG_INVALID`.
 */
export async function readConfigFile(context: Pick<CommandContext, 'env' | 'cwd'>): Promise<ConfigFile> {
  const path = configPath(context);
  const empty: ConfigFile = { path, exists: false, contexts: new Map(), defaultContext: undefined };
  let text: string;
  let mode: number;
  try {
    const facts = await stat(path);
    if (facts.size > MAX_BYTES) throw invalid(path, `it has ${facts.size} bytes`, 'a config file is a small JSON file');
    mode = facts.mode;
    text = await readFile(path, 'utf8');
  } catch (error) {
    const code = errnoOf(error);
    if (error instanceof OrangeboxError) throw error;
    if (code !== 'ENOENT' && code !== 'ENOTDIR') {
      throw new OrangeboxError(
        'OBX_CONFIG_UNREADABLE',
        `${escapeLine(path)} cannot be read (${code ?? 'unknown error'})`,
        {
          hint: 'check who owns it: ls -ld PATH',
          cause: error,
        },
      );
    }
    if (context.env.configFile === undefined) return empty;
    throw new OrangeboxError('OBX_CONFIG_NOT_FOUND', `there is no file ${escapeLine(path)}`, {
      hint: 'ORANGEBOX_CONFIG names it: make it, or unset the variable',
    });
  }
  const parsed = parseConfig(text, path);
  const holdsSecrets = [...parsed.contexts.values()].some(({ headers = {} }) => Object.keys(headers).length > 0);
  const open = process.platform !== 'win32' && (mode & 0o077) !== 0;
  return {
    ...parsed,
    ...(holdsSecrets && open ? { warning: `${path} holds headers and can be read by others: chmod 600 it` } : {}),
  };
}

/** Parses the text of a config file. Relative directories are those beside the file. */
export function parseConfig(text: string, path: string): ConfigFile {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (error) {
    // The message of JSON.parse quotes the text, which may hold secrets.
    const place = /position \d+(?: \(line \d+ column \d+\))?/.exec(String(error))?.[0];
    throw invalid(path, `it is not JSON${place === undefined ? '' : ` (at ${place})`}`, EXAMPLE);
  }
  const file = objectAt(document, path, 'the file', FILE_FIELDS);
  const contexts = new Map<string, NamedContext>();
  for (const [name, value] of Object.entries(objectAt(file['contexts'] ?? {}, path, 'contexts'))) {
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name))
      throw invalid(path, `"${escapeLine(name)}" cannot be a context's name`, 'use letters, digits, dots, _ and -');
    contexts.set(name, contextAt(value, path, `contexts.${name}`));
  }
  const chosen = file['defaultContext'];
  if (chosen !== undefined && typeof chosen !== 'string') throw invalid(path, 'defaultContext must be a name', EXAMPLE);
  if (chosen !== undefined && !contexts.has(chosen))
    throw invalid(
      path,
      `defaultContext is "${escapeLine(chosen)}", which it does not describe`,
      namesHint(contexts, chosen),
    );
  return { path, exists: true, contexts, defaultContext: chosen };
}

/** Which contexts there are, or which was probably meant. */
export function namesHint(contexts: ReadonlyMap<string, unknown>, typed: string): string {
  const names = [...contexts.keys()];
  const near = nearest(typed, names);
  if (near !== undefined) return `did you mean ${near}?`;
  return names.length === 0 ? 'orangebox context says where contexts are written' : `there are ${names.join(', ')}`;
}

const EXAMPLE = '{"contexts": {"prod": {"source": "https://jaeger.example", "store": "s3://bucket/prefix"}}}';

function contextAt(value: unknown, path: string, where: string): NamedContext {
  const fields = objectAt(value, path, where, CONTEXT_FIELDS);
  const found: NamedContext = {};
  for (const name of TEXT_FIELDS) {
    const text = fields[name];
    if (text === undefined) continue;
    if (typeof text !== 'string' || text.trim() === '')
      throw invalid(path, `${where}.${name} must be a text that is not empty`, EXAMPLE);
    found[name] = text.trim();
  }
  const { store } = found;
  if (store !== undefined && !/^[a-z][a-z0-9+.-]*:\/\//i.test(store)) found.store = resolve(dirname(path), store);
  if (fields['headers'] !== undefined) found.headers = headersAt(fields['headers'], path, `${where}.headers`);
  return found;
}

function headersAt(value: unknown, path: string, where: string): HeaderFields {
  const headers: { [name: string]: string } = {};
  for (const [name, text] of Object.entries(objectAt(value, path, where))) {
    if (!isHeaderName(name)) throw invalid(path, `"${escapeLine(name)}" in ${where} is no name of a header`, EXAMPLE);
    if (typeof text !== 'string' || !isHeaderValue(text))
      throw invalid(path, `${where}.${name} must be one line of text`, '"headers": {"X-Scope-OrgID": "team"}');
    headers[name] = text;
  }
  return headers;
}

function objectAt(value: unknown, path: string, where: string, fields?: readonly string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid(path, `${where} must be an object`, EXAMPLE);
  for (const name of Object.keys(value)) {
    if (fields === undefined || fields.includes(name)) continue;
    const near = nearest(name, fields);
    const hint = near === undefined ? `known are ${fields.join(', ')}` : `did you mean ${near}?`;
    throw invalid(path, `${where} has an unknown field "${escapeLine(name)}"`, hint);
  }
  return value as Record<string, unknown>;
}

function invalid(path: string, what: string, hint: string): OrangeboxError {
  return new OrangeboxError('OBX_CONFIG_INVALID', `${escapeLine(path)}: ${what}`, { hint });
}
