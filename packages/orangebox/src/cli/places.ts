/**
 * Where a command reads from: a trace backend, a store of payloads, the local recordings. Flags come first, then the
 * context, then the environment, each field by itself. Once a flag names a place, only named places are read.
 */
import { type ConfigFile, type NamedContext, namesHint, readConfigFile } from './config-file.ts';
import type { CommandContext } from './context.ts';
import { usage } from './parse-options.ts';
import { type HeaderFields, parseHeaderPairs } from './source-headers.ts';
import { escapeLine } from './text/escape.ts';

/** Who named a place, for messages. */
export type PlaceBasis = '--source' | '--store' | 'ORANGEBOX_SOURCE' | 'ORANGEBOX_STORE' | `context ${string}`;

/** A trace backend to ask. */
export interface SourcePlace {
  /** Base URL; may have a prefix that says which backend it is (`jaeger+https://`), and credentials: print {@link shownUrl}. */
  url: string;
  /** Sent to the origin of `url` only. Secret. */
  headers: HeaderFields;
  basis: PlaceBasis;
}

/** A store of payloads. */
export interface StorePlace {
  /** `s3://bucket/prefix`, or a directory as it was named; print {@link shownUrl}. */
  url: string;
  basis: PlaceBasis;
  /** It was not asked for by itself: payloads of the source's spans are read from it, nothing is listed. */
  payloadsOnly: boolean;
}

/** Where a command reads from. */
export interface Places {
  contextName: string | undefined;
  source: SourcePlace | undefined;
  store: StorePlace | undefined;
  /** The local recordings are read. */
  local: boolean;
  /** The environment for S3: the `AWS_*` variables with the context's own settings over them. */
  storeEnv: NodeJS.ProcessEnv;
  config: ConfigFile | undefined;
}

const found = new WeakMap<CommandContext, Promise<Places>>();

/** Finds out where to read from, once per command. Rejects with `OrangeboxError` `OBX_CLI_USAGE` or `OBX_CONFIG_*`. */
export function findPlaces(context: CommandContext): Promise<Places> {
  const known = found.get(context) ?? lookFor(context);
  found.set(context, known);
  return known;
}

async function lookFor(context: CommandContext): Promise<Places> {
  const { env, places: flags } = context;
  const named = flags.source !== undefined || flags.store !== undefined || flags.context !== undefined;
  if (context.dir !== undefined && !named) return onlyLocal(env.all);
  const config = await readConfigFile(context);
  if (config.warning !== undefined)
    context.terminal.note(context.terminal.errorColors.yellow(escapeLine(config.warning)));
  const contextName = flags.context ?? env.contextName ?? config.defaultContext;
  const chosen = chosenContext(config, contextName, flags.context === undefined);
  const storeEnv = withSettings(env.all, chosen);
  // A flag that names the one place leaves out the other of the environment, unless the payloads of a source are there.
  const onlyStore = flags.store !== undefined && flags.source === undefined && flags.context === undefined;
  const candidates: [string | undefined, PlaceBasis][] = [
    [flags.source, '--source'],
    [onlyStore ? undefined : chosen?.source, `context ${contextName ?? ''}`],
    [onlyStore ? undefined : env.source, 'ORANGEBOX_SOURCE'],
  ];
  const [sourceText, sourceBasis] = firstNamed(candidates);
  const isLocal = sourceText === 'local';
  const source =
    sourceText === undefined || isLocal
      ? undefined
      : { url: sourceText, headers: headersFor(sourceText, chosen, context), basis: sourceBasis };
  const onlyLocalNamed = flags.source === 'local' && flags.context === undefined;
  const [storeText, storeBasis] = firstNamed([
    [flags.store, '--store'],
    [onlyLocalNamed ? undefined : chosen?.store, `context ${contextName ?? ''}`],
    [onlyLocalNamed ? undefined : env.store, 'ORANGEBOX_STORE'],
  ]);
  const payloadsOnly = flags.source !== undefined && flags.store === undefined && flags.context === undefined;
  const store = storeText === undefined ? undefined : { url: storeText, basis: storeBasis, payloadsOnly };
  const local = !named || context.dir !== undefined || (isLocal && !onlyStore);
  return { contextName: chosen === undefined ? undefined : contextName, source, store, local, storeEnv, config };
}

function onlyLocal(storeEnv: NodeJS.ProcessEnv): Places {
  return { contextName: undefined, source: undefined, store: undefined, local: true, storeEnv, config: undefined };
}

/** The settings of a context of the config file; undefined when none is named. */
function chosenContext(config: ConfigFile, name: string | undefined, byEnv: boolean): NamedContext | undefined {
  if (name === undefined) return undefined;
  const found = config.contexts.get(name);
  if (found !== undefined) return found;
  const who = byEnv ? 'ORANGEBOX_CONTEXT names' : 'there is no context';
  const where = config.exists ? escapeLine(config.path) : `${escapeLine(config.path)}, which is not there`;
  throw usage(
    `${who} "${escapeLine(name)}"${byEnv ? ', which is not' : ''} in ${where}`,
    namesHint(config.contexts, name),
  );
}

/** The environment for S3 with a context's settings; a profile counts more than keys that happen to be set. */
export function withSettings(env: NodeJS.ProcessEnv, chosen: NamedContext | undefined): NodeJS.ProcessEnv {
  const all: NodeJS.ProcessEnv = { ...env };
  if (chosen?.s3Endpoint !== undefined) all['AWS_ENDPOINT_URL_S3'] = chosen.s3Endpoint;
  if (chosen?.region !== undefined) all['AWS_REGION'] = chosen.region;
  if (chosen?.profile !== undefined) {
    all['AWS_PROFILE'] = chosen.profile;
    for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN']) delete all[name];
  }
  return all;
}

function firstNamed(candidates: readonly [string | undefined, PlaceBasis][]): [string | undefined, PlaceBasis] {
  return candidates.find(([text]) => text !== undefined) ?? [undefined, 'ORANGEBOX_SOURCE'];
}

/** A URL as it may be printed: without user name and password. */
export function shownUrl(url: string): string {
  return escapeLine(url.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, '$1'));
}

/** Headers go only where whoever wrote them sends them: to the source they were written for. */
function headersFor(url: string, chosen: NamedContext | undefined, context: CommandContext): HeaderFields {
  if (chosen?.headers !== undefined && (chosen.source === undefined || sameOrigin(chosen.source, url)))
    return chosen.headers;
  const { sourceHeaders, source } = context.env;
  if (sourceHeaders === undefined || (source !== undefined && !sameOrigin(source, url))) return {};
  const { headers, problems } = parseHeaderPairs(sourceHeaders);
  if (problems[0] !== undefined)
    throw usage(
      `ORANGEBOX_SOURCE_HEADERS: ${escapeLine(problems[0])}`,
      'write name=value,name=value, values percent-encoded',
    );
  return headers;
}

/** Whether two base URLs have one origin; a prefix that names the backend does not count. */
function sameOrigin(a: string, b: string): boolean {
  const [left, right] = [originOf(a), originOf(b)];
  return left !== undefined && left === right;
}

function originOf(url: string): string | undefined {
  try {
    return new URL(url.replace(/^(?:jaeger|tempo)\+/i, '')).origin;
  } catch {
    return undefined;
  }
}
