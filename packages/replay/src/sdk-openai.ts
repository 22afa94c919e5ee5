/** The official `openai` SDK of whoever replays (major versions 4 to 7), found from their working directory. */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { decodeBody, headerOf } from '@orangebox/codec';
import { type Exchange, type JsonObject, OrangeboxError } from '@orangebox/schema';
import { neverLeft } from './recorded-fetch.ts';

/** An SDK that was found. */
export interface FoundSdk {
  name: 'openai';
  version: string;
  /** Makes a client. */
  create(options: SdkOptions): SdkClient;
}

/** What a replay hands to the client. */
export interface SdkOptions {
  apiKey: string;
  baseURL: string;
  fetch: unknown;
  maxRetries: number;
  defaultQuery: { [name: string]: string };
  timeout: number;
}

interface Creates {
  create(body: JsonObject, options: object): unknown;
}

/** The part of the client that is used; the same in all supported versions. */
export interface SdkClient {
  chat: { completions: Creates };
  completions: Creates;
  embeddings: Creates;
  responses?: Creates;
  post(path: string, options: object): unknown;
  get(path: string, options: object): unknown;
}

const OLDEST = 4;
const NEWEST = 7;

/** Finds the SDK from a directory; undefined when there is none or of another version. Runs the package's own code. */
export function findOpenAi(cwd: string): FoundSdk | undefined {
  const require = createRequire(join(cwd, 'noop.js'));
  let entry: string;
  try {
    entry = require.resolve('openai');
  } catch {
    return undefined;
  }
  const version = versionOf(entry);
  const major = Number(version?.split('.')[0]);
  if (version === undefined || !(major >= OLDEST && major <= NEWEST)) return undefined;
  let loaded: unknown;
  try {
    loaded = require('openai');
  } catch (cause) {
    throw new OrangeboxError('OBX_REPLAY_SDK_LOAD', `openai ${version} could not be loaded`, {
      cause,
      hint: 'replay with plain fetch (--via fetch), or repair node_modules',
    });
  }
  const OpenAi = constructorIn(loaded);
  if (!OpenAi) return undefined;
  return { name: 'openai', version, create: (options) => new OpenAi(options) as SdkClient };
}

function constructorIn(loaded: unknown): (new (options: object) => unknown) | undefined {
  const candidates = [loaded, (loaded as { default?: unknown }).default, (loaded as { OpenAI?: unknown }).OpenAI];
  return candidates.find((candidate) => typeof candidate === 'function') as
    | (new (
        options: object,
      ) => unknown)
    | undefined;
}

/** The version in the nearest `package.json` of that name; not all versions export theirs. */
function versionOf(entry: string): string | undefined {
  for (let directory = dirname(entry); directory !== dirname(directory); directory = dirname(directory)) {
    const path = join(directory, 'package.json');
    if (!existsSync(path)) continue;
    try {
      const parsed = JSON.parse(readFileSync(path, 'utf8')) as { name?: unknown; version?: unknown };
      if (parsed.name === 'openai' && typeof parsed.version === 'string') return parsed.version;
    } catch {
      return undefined;
    }
  }
  return undefined;
}

/** How to make a recorded request with the SDK. */
export interface SdkCall {
  baseURL: string;
  defaultQuery: { [name: string]: string };
  isStream: boolean;
  run(client: SdkClient, signal: AbortSignal): unknown;
}

const OPERATIONS: readonly { suffix: string; of: (client: SdkClient) => Creates | undefined }[] = [
  { suffix: '/chat/completions', of: (client) => client.chat.completions },
  { suffix: '/completions', of: (client) => client.completions },
  { suffix: '/embeddings', of: (client) => client.embeddings },
  { suffix: '/responses', of: (client) => client.responses },
];

/** The SDK call that sends a recorded request; a reason why there is none. */
export function sdkCallOf(exchange: Exchange): SdkCall | string {
  const { method, url, body } = exchange.request;
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    return 'the recorded URL does not parse';
  }
  const operation = OPERATIONS.find(({ suffix }) => parsed.pathname.endsWith(suffix));
  if (method !== 'POST' || !operation) return `the openai SDK has no call for ${method} ${parsed.pathname}`;
  if (headerOf(exchange.request.headers, 'content-encoding') !== undefined) return 'the request body is compressed';
  // Without a connection no body left, and any body gives the same error.
  const json = neverLeft(exchange) ? {} : jsonObject(decodeBody(body));
  if (!json) return 'the request body is not a JSON object';
  const parameters = operation.suffix === '/embeddings' ? withoutDefaultEncoding(json) : json;
  return {
    baseURL: parsed.origin + parsed.pathname.slice(0, -operation.suffix.length),
    defaultQuery: Object.fromEntries(parsed.searchParams),
    isStream: json['stream'] === true,
    run: (client, signal) => {
      const resource = operation.of(client);
      if (!resource)
        return client.post(operation.suffix, { body: parameters, stream: json['stream'] === true, signal });
      return resource.create(parameters, { signal });
    },
  };
}

/**
 * The SDK asks for base64 where the program named no encoding, puts that last, and decodes the answer. Named by the
 * program it would stay base64; the usual case is taken.
 */
function withoutDefaultEncoding(json: JsonObject): JsonObject {
  const isDefault = Object.keys(json).at(-1) === 'encoding_format' && json['encoding_format'] === 'base64';
  if (!isDefault) return json;
  const { encoding_format: _format, ...rest } = json;
  return rest;
}

function jsonObject(bytes: Uint8Array): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}
