/** Credentials in URLs: the user info and query parameters. */
import { isCredentialParameter, looksLikeSecret, fieldVerdict } from './names.ts';
import { isMasked, type TokenBook } from './tokens.ts';

/** A credential found in a URL, as it stands there and decoded. */
export interface UrlCredential {
  token: string;
  value: string;
}

const USER_INFO = /^([a-z][a-z0-9+.-]*:\/\/)([^/?#@]*(?:@[^/?#@]*)*)@/i;
const PARAMETER = /([?&#;])([^=&#;?]+)=([^&#;]*)/g;

/** A URL with its credentials replaced, and what they were. Works on the text, so everything else stays as it is. */
export function redactUrl(url: string, tokens: TokenBook): { url: string; found: UrlCredential[] } {
  const found: UrlCredential[] = [];
  const replace = (name: string, raw: string): string => {
    const value = decode(raw);
    if (value === '' || isMasked(value)) return raw;
    const token = tokens.token(name, value);
    found.push({ token, value });
    return token;
  };
  const withoutUser = url.replace(
    USER_INFO,
    (_, scheme: string, info: string) => `${scheme}${replace('userinfo', info)}@`,
  );
  const query = withoutUser.search(/[?#]/);
  if (query === -1) return { url: withoutUser, found };
  const redacted = withoutUser.slice(query).replace(PARAMETER, (whole, lead: string, name: string, raw: string) => {
    const plain = decode(name);
    const ambiguous = fieldVerdict(plain) === 'if_secret_like' && looksLikeSecret(decode(raw));
    return isCredentialParameter(plain) || ambiguous ? `${lead}${name}=${replace(plain.toLowerCase(), raw)}` : whole;
  });
  return { url: withoutUser.slice(0, query) + redacted, found };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
