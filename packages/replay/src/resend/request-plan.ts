/** What of a recorded request is sent again, and where: worked out and checked before anything opens a socket. */
import { randomBytes, randomUUID } from 'node:crypto';
import { decodeBody, isCredentialHeader, type RedactorOptions, secretsOfEnvironment } from '@orangebox/codec';
import { type Exchange, type HeaderList, OrangeboxError, type Snapshot } from '@orangebox/schema';
import { isHopByHop, isValidField } from '../recorded-message.ts';
import type { ResendOptions, ResendPlan } from '../types.ts';
import { effectsOf } from './effects.ts';
import { credentialOf, type Provider, providerForBaseUrl, providerOf } from './providers.ts';

/** A checked request: the plan that is shown, and what is sent. */
export interface PlannedRequest {
  plan: ResendPlan;
  url: URL;
  method: string;
  body: Uint8Array;
  /** What is kept out of the new recording. */
  redaction: RedactorOptions;
  /** Header list of one sending, with new trace and idempotency values. */
  headers(traceId: string, spanId: string): HeaderList;
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']);
// eslint-disable-next-line no-control-regex -- control characters are what is looked for
const UNSAFE_IN_URL = /[\u0000-\u0020\u007f-\u009f\\]|%(?:2f|5c|0[0-9a-f]|1[0-9a-f]|7f)/i;

/** Trace headers of others: a new trace starts, so they are left out. */
const DROPPED =
  /^(?:baggage|tracestate|b3|x-b3-.*|uber-trace-id|sentry-trace|x-datadog-.*|x-amzn-trace-id|x-cloud-trace-context|cookie|proxy-.*|forwarded|x-forwarded-.*|via)$/;
const RENEWED = /^(?:traceparent|(?:x-)?idempotency-key|x-client-request-id|x-request-id|x-stainless-retry-count)$/;

/** Checks a recorded call and plans its sending. `OBX_RESEND_*` says what forbids it. */
export function planRequest(snapshot: Snapshot, options: ResendOptions): PlannedRequest {
  const exchange = lastExchange(snapshot);
  const { request } = exchange;
  const env = options.env ?? process.env;
  const method = request.method.toUpperCase();
  if (!METHODS.has(method)) throw refuse('METHOD', `the method ${JSON.stringify(method.slice(0, 20))} is not sent`);
  const recordedUrl = parseRecordedUrl(request.url);
  const fields = sortHeaders(exchange);
  const provider =
    options.baseUrl === undefined
      ? providerOf(recordedUrl, env)
      : providerForBaseUrl(recordedUrl, fields.credentials, env);
  if (!provider) throw foreignHost(recordedUrl);
  const url = options.baseUrl === undefined ? recordedUrl : underBaseUrl(options.baseUrl, recordedUrl);
  const droppedParameters = dropSecretParameters(url);
  const body = wholeBody(snapshot, exchange);
  const effects = effectsOf(request, url, body);
  if (effects.refused.length > 0 && !options.allowEffects) {
    throw new OrangeboxError(
      'OBX_RESEND_EFFECTS',
      `the request does more than ask for an answer: ${effects.refused.join('; ')}`,
      {
        hint: 'send it all the same with --allow-effects',
      },
    );
  }
  const hadCredential = fields.credentials.length > 0 || droppedParameters.length > 0;
  const credential = hadCredential ? chooseCredential(provider, env, options.baseUrl !== undefined) : undefined;
  const n = options.n ?? 1;
  if (!Number.isSafeInteger(n) || n < 1 || n > 1000) throw refuse('COUNT', 'a request is sent 1 to 1000 times');
  const secretValue =
    credential && (provider.header === 'authorization' ? `Bearer ${credential.value}` : credential.value);
  const model = modelOf(body);
  return {
    plan: {
      method,
      url: url.href,
      bodySizeBytes: body.length,
      ...(model === undefined ? {} : { model }),
      n,
      ...(credential ? { credential: { header: provider.header, variable: credential.variable } } : {}),
      renewed: fields.renewed,
      dropped: [
        ...fields.dropped,
        ...fields.credentials.filter((name) => name !== provider.header || !credential),
        ...droppedParameters.map((name) => `?${name}`),
      ],
      effects: [...effects.refused, ...effects.implied],
    },
    url,
    method,
    body,
    redaction: {
      secrets: [
        ...(credential ? [{ name: `env.${credential.variable}`, value: credential.value }] : []),
        ...secretsOfEnvironment(env),
      ],
      patterns: options.redactPatterns ?? [],
    },
    headers: (traceId, spanId) => {
      const headers = fields.kept.map(([name, value]): [string, string] => [
        name,
        renewed(name, value, traceId, spanId),
      ]);
      if (secretValue !== undefined) headers.push([provider.header, secretValue]);
      return headers;
    },
  };
}

function lastExchange(snapshot: Snapshot): Exchange {
  const exchange = snapshot.exchanges.at(-1);
  if (exchange) return exchange;
  throw refuse(
    'NO_REQUEST',
    `a ${snapshot.kind} snapshot has no request to send`,
    'resend the call that asked for the tool',
  );
}

/** The URL, if it says plainly where it goes. */
function parseRecordedUrl(text: string): URL {
  if (UNSAFE_IN_URL.test(text)) throw refuse('URL', 'the recorded URL has characters that hide where it goes');
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw refuse('URL', 'the recorded URL does not parse');
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw refuse('URL', `${url.protocol} URLs are not sent`);
  if (url.username !== '' || url.password !== '') throw refuse('URL', 'the recorded URL carries a user or password');
  url.hash = '';
  return url;
}

function foreignHost(url: URL): OrangeboxError {
  return refuse(
    'HOST',
    `${url.host} is not the own host of a provider that credentials are known for`,
    `if you trust it, name it yourself: --base-url ${url.origin}`,
  );
}

/** The recorded path and query under a base that the user named. Its host cannot be changed by the recording. */
function underBaseUrl(base: string, recorded: URL): URL {
  let url: URL;
  try {
    url = new URL(base);
  } catch (cause) {
    throw new OrangeboxError('OBX_RESEND_BASE_URL', 'the base URL does not parse', {
      cause,
      hint: 'e.g. http://127.0.0.1:8080/v1',
    });
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw refuse('BASE_URL', 'the base URL must be http or https');
  }
  const prefix = url.pathname.replace(/\/+$/, '');
  // A base that ends as the recorded path begins (`/v1`) is that same place, as SDKs are configured.
  const path = recorded.pathname;
  const overlap = prefix !== '' && path.startsWith(`${prefix}/`) ? prefix : '';
  url.pathname = prefix + path.slice(overlap.length);
  url.search = recorded.search;
  url.hash = '';
  return url;
}

/** Query parameters whose value was replaced by a token say nothing; the credential goes in its header. */
function dropSecretParameters(url: URL): string[] {
  const names = [...url.searchParams].filter(([, value]) => value.includes('{{secret:')).map(([name]) => name);
  for (const name of names) url.searchParams.delete(name);
  if (decodeURIComponentSafely(url.pathname).includes('{{secret:')) {
    throw refuse('REDACTED', 'a secret was replaced in the path of the URL, so the request cannot be made again');
  }
  return names;
}

function decodeURIComponentSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The recorded body, if it is all there and as it was sent. */
function wholeBody(snapshot: Snapshot, exchange: Exchange): Uint8Array {
  const tokens = snapshot.redactions.filter(({ where }) => where.startsWith('request.body')).map(({ token }) => token);
  if (tokens.length > 0) {
    throw refuse(
      'REDACTED',
      `secrets were replaced in the body (${tokens.slice(0, 3).join(', ')}), so it would not be the same request`,
      'fetch the snapshot and send the request by hand',
    );
  }
  if (exchange.truncated?.request || (!exchange.request.sent && exchange.stage !== 'connect')) {
    throw refuse(
      'INCOMPLETE',
      'the request was not recorded whole',
      'raise ORANGEBOX_MAX_BODY_BYTES and record it again',
    );
  }
  return decodeBody(exchange.request.body);
}

interface SortedHeaders {
  kept: HeaderList;
  renewed: string[];
  dropped: string[];
  /** Names of credential headers that the recorded request had, lower case. */
  credentials: string[];
}

function sortHeaders({ request }: Exchange): SortedHeaders {
  const sorted: SortedHeaders = { kept: [], renewed: [], dropped: [], credentials: [] };
  const derived = new Set(request.derivedHeaders ?? []);
  for (const [i, [field, value]] of request.headers.entries()) {
    const name = field.toLowerCase();
    if (!isValidField(field, value)) {
      throw refuse('HEADER', `the recorded header ${JSON.stringify(field.slice(0, 40))} cannot stand on the wire`);
    }
    if (isHopByHop(name) || derived.has(i)) continue;
    if (name === 'cookie' || name.startsWith('proxy-')) sorted.dropped.push(name);
    else if (isCredentialHeader(name)) sorted.credentials.push(name);
    else if (value.includes('{{secret:')) sorted.dropped.push(name);
    else if (DROPPED.test(name)) sorted.dropped.push(name);
    else {
      if (RENEWED.test(name)) sorted.renewed.push(name);
      sorted.kept.push([field, value]);
    }
  }
  return sorted;
}

function renewed(field: string, value: string, traceId: string, spanId: string): string {
  switch (field.toLowerCase()) {
    case 'traceparent':
      return `00-${traceId}-${spanId}-01`;
    case 'x-stainless-retry-count':
      return '0';
    case 'idempotency-key':
    case 'x-idempotency-key':
      // The official SDKs write theirs with a prefix that servers may look for.
      return value.startsWith('stainless-node-retry-') ? `stainless-node-retry-${randomUUID()}` : randomUUID();
    case 'x-client-request-id':
    case 'x-request-id':
      return randomUUID();
    default:
      return value;
  }
}

function chooseCredential(
  provider: Provider,
  env: { readonly [name: string]: string | undefined },
  isExplicit: boolean,
): { variable: string; value: string } | undefined {
  const credential = credentialOf(provider, env);
  if (credential && !isValidField('x', credential.value)) {
    throw refuse('CREDENTIAL', `${credential.variable} holds characters that no header can have`);
  }
  // A server that the user named may need none.
  if (credential || isExplicit) return credential;
  throw refuse('CREDENTIAL', `no credential for ${provider.name}`, `set ${provider.variables.join(' or ')}`);
}

function modelOf(body: Uint8Array): string | undefined {
  try {
    const value = JSON.parse(new TextDecoder().decode(body)) as { model?: unknown } | null;
    return typeof value?.model === 'string' ? value.model : undefined;
  } catch {
    return undefined;
  }
}

function refuse(what: string, message: string, hint?: string): OrangeboxError {
  return new OrangeboxError(`OBX_RESEND_${what}`, message, {
    hint: hint ?? 'the recording was made or changed by somebody else; look at it with: orangebox show --http',
  });
}

/** A new trace or span id of `bytes` bytes, hex. */
export function newId(bytes: 8 | 16): string {
  return randomBytes(bytes).toString('hex');
}
