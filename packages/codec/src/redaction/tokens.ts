/** Tokens that stand where secrets stood, and the count of them. */
import type { Redaction } from '@orangebox/schema';

/** Values remembered for equality. Beyond it the oldest is forgotten and would get a new token. */
const REMEMBERED_VALUES = 4096;

/** Matches a token. */
export const SECRET_TOKEN_PATTERN: RegExp = /\{\{secret:[A-Za-z0-9_.-]+\}\}/;

const WHOLE_TOKEN = new RegExp(`^${SECRET_TOKEN_PATTERN.source}$`);

/** Whether a value is a token already. */
export function isSecretToken(value: string): boolean {
  return WHOLE_TOKEN.test(value);
}

/** What others put in the place of secrets: OpenAI answers the headers of an MCP tool with `<redacted>`. */
const MASK = /^[<[({]*(?:redacted|masked|filtered|\*+|\u2022+|x{4,})[>\])}]*$/i;

/** Whether a value is no secret any more: a token of ours or somebody else's mask. It stays as it is. */
export function isMasked(value: string): boolean {
  return isSecretToken(value) || MASK.test(value);
}

/**
 * Gives equal values equal tokens for as long as the process lives, whatever place they are found in: a key of the
 * environment keeps its name in a header and in an echoed body. The first value of a name is `{{secret:<name>}}`,
 * the next other one `{{secret:<name>.2}}`.
 */
export class TokenBook {
  readonly #tokens: Map<string, string> = new Map();
  readonly #counts: Map<string, number> = new Map();

  /** The token of a value; `name` is used when the value is new. */
  token(name: string, value: string): string {
    const known = this.#tokens.get(value);
    if (known !== undefined) return known;
    const token = this.#next(name);
    if (this.#tokens.size >= REMEMBERED_VALUES) {
      const [oldest] = this.#tokens.keys();
      if (oldest !== undefined) this.#tokens.delete(oldest);
    }
    this.#tokens.set(value, token);
    return token;
  }

  /** A token for a value that is too long to be remembered. */
  fresh(name: string): string {
    return this.#next(name);
  }

  #next(name: string): string {
    const plain = name.replace(/[^A-Za-z0-9_.-]/g, '_').slice(0, 64) || 'value';
    const count = (this.#counts.get(plain) ?? 0) + 1;
    this.#counts.set(plain, count);
    return `{{secret:${plain}${count === 1 ? '' : `.${count}`}}}`;
  }
}

/** Counts replacements by place and token. */
export class RedactionCounter {
  readonly #byId: Map<string, Redaction> = new Map();

  /** Notes one replacement. */
  add(where: string, token: string): void {
    const id = `${where}\n${token}`;
    const known = this.#byId.get(id);
    if (known) known.count++;
    else this.#byId.set(id, { where, token, count: 1 });
  }

  /** All so far, in order of appearance. */
  list(): Redaction[] {
    return [...this.#byId.values()].map((redaction) => ({ ...redaction }));
  }
}
