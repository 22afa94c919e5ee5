/** Which names of headers, fields, parameters and environment variables stand for credentials. */
import { withoutScheme } from './values.ts';

/** How a name's value is treated: always a secret, a secret where it looks like one, or not. */
export type NameVerdict = 'secret' | 'if_secret_like' | 'no';

/** Lower case without separators, so that `api_key`, `apiKey`, `API-KEY` are one name. */
function squash(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}

const FIELD_SECRETS: ReadonlySet<string> = new Set([
  'authorization',
  'proxyauthorization',
  'cookie2',
  'setcookie',
  'accesskey',
  'jwt',
  'pat',
  'connectionstring',
]);

/** Names that end so are credentials whatever stands before: `openai_api_key`, `db_password`, `GITHUB_ACCESS_TOKEN`. */
const FIELD_SECRET_ENDING =
  /(?:apikey|apitoken|accesstoken|refreshtoken|idtoken|authtoken|bearertoken|sessiontoken|securitytoken|authorizationtoken|oauthtoken|secretkey|secretaccesskey|privatekey|signingkey|encryptionkey|subscriptionkey|clientsecret|signingsecret|webhooksecret|appsecret|password|passwd|passphrase)$/;

/** Words that also name harmless things: a token of text, the secret of a riddle, a recipe's cookie. */
const FIELD_AMBIGUOUS: ReadonlySet<string> = new Set([
  'token',
  'secret',
  'credential',
  'credentials',
  'cookie',
  'auth',
]);

/** Verdicts on names seen before; bodies have the same few again and again. */
const fieldVerdicts: Map<string, NameVerdict> = new Map();
const headerVerdicts: Map<string, boolean> = new Map();
const REMEMBERED_NAMES = 1000;

/** Verdict on a member name of a JSON body or a field of a multipart form. */
export function fieldVerdict(name: string): NameVerdict {
  const known = fieldVerdicts.get(name);
  if (known !== undefined) return known;
  const verdict = judgeField(name);
  if (fieldVerdicts.size < REMEMBERED_NAMES) fieldVerdicts.set(name, verdict);
  return verdict;
}

function judgeField(name: string): NameVerdict {
  const plain = squash(name);
  if (FIELD_SECRETS.has(plain) || FIELD_SECRET_ENDING.test(plain)) return 'secret';
  return FIELD_AMBIGUOUS.has(plain) ? 'if_secret_like' : 'no';
}

/**
 * Whether the value of an ambiguous field is a credential: long, without spaces, letters and digits mixed. Tokens in
 * log probabilities are words and stay.
 */
export function looksLikeSecret(value: string): boolean {
  return value.length >= 20 && /^[\w.~+/=:;%-]+$/.test(value) && /[0-9]/.test(value) && /[A-Za-z]/.test(value);
}

const PARAMETERS: ReadonlySet<string> = new Set([
  'key',
  'token',
  'sig',
  'signature',
  'code',
  'auth',
  'secret',
  'pwd',
  'pass',
  'assertion',
  'clientassertion',
  'codeverifier',
  'devicecode',
  'xamzsignature',
  'xamzcredential',
  'xamzsecuritytoken',
  'xgoogsignature',
  'xgoogcredential',
  'awsaccesskeyid',
  'credential',
  'credentials',
]);

/** Whether a URL's query parameter or a field of a URL-encoded form is a credential. */
export function isCredentialParameter(name: string): boolean {
  return PARAMETERS.has(squash(name)) || fieldVerdict(name) === 'secret';
}

const HEADER_WORDS: ReadonlySet<string> = new Set([
  'authorization',
  'auth',
  'secret',
  'password',
  'passwd',
  'credential',
  'credentials',
  'apikey',
  'jwt',
]);
/** Last words that make a credential: `x-amz-security-token`, but not `x-amzn-bedrock-input-token-count`. */
const HEADER_LAST_WORDS: ReadonlySet<string> = new Set(['token', 'cookie', 'cookie2', 'authtoken', 'accesstoken']);
/** Words before `key` that make it a name and not a credential. */
const HARMLESS_KEYS: ReadonlySet<string> = new Set([
  'idempotency',
  'websocket',
  'surrogate',
  'cache',
  'partition',
  'routing',
  'sort',
  'public',
]);

/** Whether a header's value is a credential. */
export function isCredentialHeader(name: string): boolean {
  const known = headerVerdicts.get(name);
  if (known !== undefined) return known;
  const verdict = judgeHeader(name);
  if (headerVerdicts.size < REMEMBERED_NAMES) headerVerdicts.set(name, verdict);
  return verdict;
}

function judgeHeader(name: string): boolean {
  const words = name.toLowerCase().split(/[-_.]/);
  const last = words.at(-1) ?? '';
  if (HEADER_LAST_WORDS.has(last)) return true;
  if (last === 'key' && !HARMLESS_KEYS.has(words.at(-2) ?? '')) return true;
  return words.some((word) => HEADER_WORDS.has(word));
}

/** Secrets shorter than this many bytes are not searched for: they would match by chance. */
export const SECRET_MIN_BYTES = 12;

const ENV_SECRET = /KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|(?:^|_)(?:PWD|PASS|PAT|AUTH)$/i;
const ENV_HARMLESS: ReadonlySet<string> = new Set(['PWD', 'OLDPWD']);

/** Whether an environment variable is named like a key, token, secret or password. */
export function isSecretEnvName(name: string): boolean {
  return ENV_SECRET.test(name) && !ENV_HARMLESS.has(name.toUpperCase());
}

/** A value to search for, and the name its token gets. */
export interface NamedSecret {
  name: string;
  value: string;
}

/** Variables that hold headers (`ORANGEBOX_HEADERS`, `OTEL_EXPORTER_OTLP_HEADERS`): `name=value,name=value`, percent-encoded. */
const ENV_HEADERS = /(?:^|_)HEADERS$/i;

/**
 * The secrets of an environment: every value of {@link SECRET_MIN_BYTES} or more under a secret's name, and the
 * credentials in lists of headers.
 */
export function secretsOfEnvironment(env: { readonly [name: string]: string | undefined }): NamedSecret[] {
  const secrets: NamedSecret[] = [];
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || value.length < SECRET_MIN_BYTES) continue;
    if (isSecretEnvName(name)) secrets.push({ name: `env.${name}`, value });
    else if (ENV_HEADERS.test(name)) secrets.push(...credentialsOfHeaders(name, value));
  }
  return secrets;
}

function credentialsOfHeaders(variable: string, list: string): NamedSecret[] {
  return list.split(',').flatMap((pair) => {
    const equals = pair.indexOf('=');
    const header = pair.slice(0, Math.max(equals, 0)).trim();
    if (header === '' || !isCredentialHeader(header)) return [];
    const value = withoutScheme(percentDecoded(pair.slice(equals + 1).trim()));
    return value.length < SECRET_MIN_BYTES ? [] : [{ name: `env.${variable}.${header}`, value }];
  });
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
