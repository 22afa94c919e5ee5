/**
 * 200 planted secrets: where each stands and what the program and the server do with it. Values are made anew on
 * every run, so no list of known values can pass.
 */
import { randomBytes } from 'node:crypto';

/** Characters that change under JSON, URL and base64 encoding are in every third value. */
function freshValue(n) {
  const core = `PLANTED${String(n).padStart(3, '0')}${randomBytes(12).toString('hex')}`;
  const odd = [core, `${core.slice(0, 14)}+/=${core.slice(14)}`, `${core.slice(0, 12)}"\\%&${core.slice(12)}é`];
  return odd[n % 3];
}

/** Header values may hold no quotes, backslashes or characters outside ASCII here. */
const plain = (n) => `PLANTED${String(n).padStart(3, '0')}${randomBytes(12).toString('hex')}`;

const REQUEST_HEADERS = [
  'authorization',
  'proxy-authorization',
  'cookie',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'x-auth-token',
  'x-amz-security-token',
  'ocp-apim-subscription-key',
  'x-acme-secret',
  'x-session-token',
  'x-vault-token',
];
const RESPONSE_HEADERS = ['set-cookie', 'x-auth-token', 'authorization', 'x-api-key', 'x-refresh-token'];
const URL_PARAMETERS = [
  'key',
  'api_key',
  'apikey',
  'api-key',
  'access_token',
  'token',
  'sig',
  'signature',
  'client_secret',
  'X-Amz-Signature',
];
const BODY_FIELDS = [
  'authorization',
  'api_key',
  'apiKey',
  'access_token',
  'refresh_token',
  'client_secret',
  'password',
];
const ECHO_FORMS = ['raw', 'json', 'percent', 'base64'];
const ECHO_WAYS = ['whole', 'bytes', 'gzip', 'br', 'sse', 'sse-bytes', 'sse-gzip', 'binary'];

/** @returns {{n: number, kind: string, value: string, env?: string}[]} */
export function makePlacements() {
  const list = [];
  const add = (kind, fields, { header = false, env = false, value } = {}) => {
    const n = list.length;
    const placement = { n, kind, value: value ?? (header ? plain(n) : freshValue(n)), ...fields };
    if (env) placement.env = ['ACME_API_KEY', 'GITHUB_TOKEN', 'DB_PASSWORD', 'SIGNING_SECRET'][n % 4] + `_${n}`;
    list.push(placement);
  };
  for (const via of ['fetch', 'http'])
    for (const name of REQUEST_HEADERS) add('request-header', { name, via }, { header: true });
  for (const via of ['fetch', 'http'])
    for (const name of RESPONSE_HEADERS) add('response-header', { name, via }, { header: true });
  for (const via of ['fetch', 'http']) for (const name of URL_PARAMETERS) add('url', { name, via });
  for (let i = 0; i < 2; i += 1) add('url-userinfo', { via: 'http' }, { header: true });
  for (const depth of [0, 1, 2]) for (const field of BODY_FIELDS) add('body-field', { field, depth });
  for (let i = 0; i < 4; i += 1) add('mcp-authorization', {});
  for (let i = 0; i < 4; i += 1) add('mcp-header', {});
  for (let i = 0; i < 3; i += 1) add('form-field', { field: ['api_key', 'password', 'client_secret'][i] });
  for (const form of ECHO_FORMS) for (const way of ECHO_WAYS) add('echo', { form, way }, { env: true });
  for (let i = 0; i < 8; i += 1) add('env-in-request', { pieces: i % 2 ? 'bytes' : 'whole' }, { env: true });
  for (const field of ['api_key', 'access_token', 'password', 'authorization']) {
    for (const way of ['whole', 'bytes', 'gzip']) add('response-field', { field, way });
  }
  for (let i = 0; i < 6; i += 1) add('error-message', {}, { env: true });
  for (let i = 0; i < 4; i += 1) add('refused-url', { name: 'api_key' });
  for (let i = 0; i < 6; i += 1) add('wrapped-tool', { part: ['args', 'result', 'error'][i % 3] }, { env: true });
  for (let i = 0; i < 4; i += 1) add('metadata', {}, { env: true });
  for (let i = 0; i < 4; i += 1) add('sse-deltas', {}, { env: true });
  while (list.length < 200)
    add('pattern', { way: list.length % 2 ? 'whole' : 'bytes' }, { value: `acct-${plain(list.length)}-end` });
  return list;
}

/** What `ORANGEBOX_REDACT` must be for the `pattern` placements. */
export const REDACT_PATTERN = 'acct-[A-Za-z0-9]+-end';

/** The text of an answer that repeats the value in one of its encoded forms. */
export function encodedForm(value, form) {
  if (form === 'json') return JSON.stringify(value).slice(1, -1);
  if (form === 'percent') return encodeURIComponent(value);
  if (form === 'base64') return Buffer.from(value).toString('base64');
  return value;
}

/** Every text by which a planted value would be known again. */
export function tracesOf(value) {
  const twice = JSON.stringify(JSON.stringify(value).slice(1, -1)).slice(1, -1);
  const base64 = Buffer.from(value).toString('base64').replace(/=+$/, '');
  return [
    ...new Set([
      value,
      encodedForm(value, 'json'),
      twice,
      encodeURIComponent(value),
      base64,
      base64.replaceAll('+', '-').replaceAll('/', '_'),
      coreOf(value),
    ]),
  ];
}

/** The run of letters and digits by which even a cut value is known. */
function coreOf(value) {
  return /PLANTED[0-9]{3}[0-9a-f]*/.exec(value)?.[0].slice(0, 24) ?? value;
}
