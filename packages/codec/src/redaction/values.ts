/** Credential values as a whole: which part of them is the secret, and its token. */
import { isMasked, type TokenBook } from './tokens.ts';

/** Schemes of `Authorization` values; they are no secret and stay readable. */
const SCHEME =
  /^(?:Bearer|Basic|Token|Digest|Negotiate|NTLM|Hawk|ApiKey|Api-Key|Key|GenieKey|OAuth|JWT|DPoP|AWS4-HMAC-SHA256|GoogleLogin|SharedKey|SharedKeyLite) +/i;

/** A credential value without its scheme. */
export function withoutScheme(value: string): string {
  return value.replace(SCHEME, '');
}

/** A credential value taken apart. */
export interface ValueToken {
  /** What stays in front, the space after it included. */
  scheme: string;
  /** What stands for the rest; undefined when there is nothing to replace. */
  token: string | undefined;
}

/** The token of a credential value under a name, its scheme kept. */
export function valueToken(tokens: TokenBook, name: string, value: string): ValueToken {
  const scheme = SCHEME.exec(value)?.[0] ?? '';
  const secret = value.slice(scheme.length);
  if (secret === '' || isMasked(secret)) return { scheme, token: undefined };
  return { scheme, token: tokens.token(name.toLowerCase(), secret) };
}
