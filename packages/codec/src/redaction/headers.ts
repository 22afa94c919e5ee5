/** Credentials in header values. */
import { isCredentialHeader, looksLikeSecret } from './names.ts';
import { isMasked, type TokenBook } from './tokens.ts';
import { valueToken } from './values.ts';

/** A header's value with the credential in it replaced. */
export interface RedactedHeader {
  value: string;
  tokens: string[];
  /** The credentials themselves, where they may be met again in bodies. */
  credentials?: string[];
}

const SIGNED_PER_REQUEST = /^(?:AWS4-HMAC-SHA256|Digest|Hawk|SharedKey(?:Lite)?|Negotiate|NTLM) /i;

/** Replaces a header's value if its name says that it is a credential; undefined if not. */
export function redactHeader(name: string, value: string, tokens: TokenBook): RedactedHeader | undefined {
  if (value === '' || !isCredentialHeader(name)) return undefined;
  const plain = name.toLowerCase();
  if (plain === 'cookie') return redactCookies(value, tokens);
  if (plain === 'set-cookie') return redactSetCookie(value, tokens);
  const { scheme, token } = valueToken(tokens, plain, value);
  if (token === undefined) return undefined;
  const redacted: RedactedHeader = { value: scheme + token, tokens: [token] };
  if (!SIGNED_PER_REQUEST.test(scheme)) redacted.credentials = [value.slice(scheme.length)];
  return redacted;
}

/**
 * Each cookie's value, names kept. Those that look like a token may be met again; what an answer sets is new with each
 * answer of some providers, and would push out what is sent.
 */
function redactCookies(value: string, tokens: TokenBook): RedactedHeader | undefined {
  const used: string[] = [];
  const credentials: string[] = [];
  const cookies = value.split(';').map((part) => {
    const equals = part.indexOf('=');
    const start = equals === -1 ? part.length - part.trimStart().length : equals + 1;
    const secret = part.slice(start);
    if (secret === '' || isMasked(secret)) return part;
    const token = tokens.token('cookie', secret);
    used.push(token);
    const bare = secret.trim();
    if (looksLikeSecret(bare)) credentials.push(bare);
    return part.slice(0, start) + token;
  });
  return used.length === 0 ? undefined : { value: cookies.join(';'), tokens: used, credentials };
}

/** The cookie's value; its name and attributes are kept. */
function redactSetCookie(value: string, tokens: TokenBook): RedactedHeader | undefined {
  const end = value.indexOf(';') === -1 ? value.length : value.indexOf(';');
  const equals = value.indexOf('=');
  const start = equals === -1 || equals > end ? 0 : equals + 1;
  const secret = value.slice(start, end);
  if (secret === '' || isMasked(secret)) return undefined;
  const token = tokens.token('set-cookie', secret);
  return { value: value.slice(0, start) + token + value.slice(end), tokens: [token] };
}
