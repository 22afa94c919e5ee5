/** Tokens that stand where secrets stood: what of a live text they stand for. */
import { SECRET_TOKEN_PATTERN } from '@orangebox/codec';

/** A token and the live text in its place. */
export interface SecretFit {
  token: string;
  live: string;
}

const TOKENS = new RegExp(SECRET_TOKEN_PATTERN.source, 'g');

/**
 * Whether a text is a recorded one whose secrets were replaced: what the tokens stand for, or undefined where the rest
 * is not equal. A secret has a character at least, and no white space but within a PEM block.
 */
export function fitSecrets(recorded: string, live: string): SecretFit[] | undefined {
  if (recorded === live) return [];
  const tokens = recorded.match(TOKENS);
  if (tokens === null) return undefined;
  const fixed = recorded.split(TOKENS);
  const last = fixed.at(-1) ?? '';
  if (!live.startsWith(fixed[0] ?? '') || !live.endsWith(last)) return undefined;
  const fits: SecretFit[] = [];
  let at = fixed[0]?.length ?? 0;
  for (const [i, token] of tokens.entries()) {
    const after = fixed[i + 1] ?? '';
    const isLast = i === tokens.length - 1;
    const end = isLast ? live.length - last.length : live.indexOf(after, at + 1);
    if (end <= at) return undefined;
    const value = live.slice(at, end);
    if (!isSecretLike(value)) return undefined;
    fits.push({ token, live: value });
    at = end + after.length;
  }
  return fits;
}

function isSecretLike(value: string): boolean {
  return !/\s/.test(value) || /^-----BEGIN [A-Z ]+-----[\sA-Za-z0-9+/=:,-]+-----\s*$/.test(value);
}
