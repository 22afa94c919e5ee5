/** The redactor: replaces secrets in everything that goes to the disk or onto a span. */
import type { HeaderList, Redaction } from '@orangebox/schema';
import { concatBytes, utf8, utf8Text } from '../bytes.ts';
import { BodyRedactor } from './body-redactor.ts';
import { placesOfSecrets, replacePlaces } from './command-line.ts';
import type { Finder } from './finder.ts';
import { FormFieldFinder } from './form-fields.ts';
import { redactHeader } from './headers.ts';
import { JsonFieldFinder } from './json-fields.ts';
import { looksLikeSecret, type NamedSecret } from './names.ts';
import type { NeedleHit } from './needles.ts';
import { PatternFinder, type ReadyPattern, readyPatterns } from './pattern-finder.ts';
import { SecretFinder } from './secret-finder.ts';
import { SecretSet } from './secret-set.ts';
import { RedactionCounter, TokenBook } from './tokens.ts';
import { redactUrl } from './urls.ts';

/** What a redactor searches for besides credentials by name. */
export interface RedactorOptions {
  /** Secrets known by value; `name` goes into the token (`env.OPENAI_API_KEY`). See {@link secretsOfEnvironment}. */
  secrets: readonly NamedSecret[];
  /** Patterns of the user. */
  patterns?: readonly RegExp[];
}

/** Replaces secrets by tokens. One per process, so that equal secrets get equal tokens. */
export interface Redactor {
  /** A URL: user info, credential parameters, known secrets, patterns. */
  url(url: string): { url: string; redactions: Redaction[] };
  /** A header list; `headers` is the same array where nothing was replaced. Credentials in it are learned. */
  headers(headers: HeaderList, of: 'request' | 'response'): { headers: HeaderList; redactions: Redaction[] };
  /** Any text: error messages, stacks, arguments and results of tools. `where` is for the redactions. */
  text(text: string, where?: string): { text: string; redactions: Redaction[] };
  /** A body, chunk by chunk. `where` is for the redactions. */
  body(where?: 'request.body' | 'response.body' | (string & {})): BodyRedactor;
  /**
   * Arguments of a program, or commands for a shell. Credentials in them are learned; those of the own program, which are
   * few, for good.
   */
  words(words: readonly string[], of: 'program' | 'child'): string[];
  /** Adds secrets that became known later. */
  addSecrets(secrets: readonly NamedSecret[]): void;
}

/** Makes a redactor. */
export function createRedactor(options: RedactorOptions): Redactor {
  return new SecretRedactor(options);
}

const URL_IN_TEXT = /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'`<>\\]+/gi;
/** Headers whose value is a URL, often without scheme and host. */
const URL_HEADERS: ReadonlySet<string> = new Set(['location', 'content-location', 'referer', ':path']);
const SCHEME_IN_TEXT = /\b(Bearer|Basic) +([\w.~+/=-]{8,})/gi;

/** Credentials from commands of child processes that are searched for everywhere. */
const FROM_CHILDREN_MAX = 64;

class SecretRedactor implements Redactor {
  readonly #tokens: TokenBook = new TokenBook();
  readonly #secrets: SecretSet;
  readonly #patterns: readonly ReadyPattern[];
  #fromChildren = 0;

  constructor(options: RedactorOptions) {
    this.#secrets = new SecretSet(this.#tokens);
    this.#secrets.add(options.secrets);
    this.#patterns = readyPatterns(options.patterns ?? []);
  }

  addSecrets(secrets: readonly NamedSecret[]): void {
    this.#secrets.add(secrets);
  }

  url(url: string): { url: string; redactions: Redaction[] } {
    const counter = new RedactionCounter();
    const byName = redactUrl(url, this.#tokens);
    for (const { token, value } of byName.found) {
      counter.add('url', token);
      this.#secrets.learn('url', value);
    }
    return { url: this.#known(byName.url, 'url', counter), redactions: counter.list() };
  }

  headers(headers: HeaderList, _of: 'request' | 'response'): { headers: HeaderList; redactions: Redaction[] } {
    const counter = new RedactionCounter();
    let changed = false;
    let out = headers.map(([name, value]): [string, string] => {
      const redacted = redactHeader(name, value, this.#tokens);
      if (!redacted) {
        const plain = this.#headerUrls(name.toLowerCase(), value, counter);
        changed ||= plain !== value;
        return [name, plain];
      }
      changed = true;
      for (const token of redacted.tokens) counter.add(`header:${name.toLowerCase()}`, token);
      for (const value of redacted.credentials ?? []) this.#secrets.learn(name.toLowerCase(), value);
      return [name, redacted.value];
    });
    // One search over all values tells in most cases that there is nothing.
    if (this.#hasKnown(out.map((header) => header[1]).join('\n'))) {
      out = out.map(([name, value]) => [name, this.#known(value, `header:${name.toLowerCase()}`, counter)]);
      changed = true;
    }
    return { headers: changed ? out : headers, redactions: counter.list() };
  }

  text(text: string, where = 'error'): { text: string; redactions: Redaction[] } {
    const counter = new RedactionCounter();
    const named = this.#urls(text, where, counter).replace(SCHEME_IN_TEXT, (_, scheme: string, value: string) => {
      const token = this.#tokens.token('authorization', value);
      counter.add(where, token);
      return `${scheme} ${token}`;
    });
    const body = new BodyRedactor([this.#fields(), ...this.#finders()], counter, where);
    const bytes = utf8(named);
    const chunks = [...body.push(bytes), ...body.end()];
    // Unchanged text is not decoded again: a lone surrogate in it would not come back.
    const isSame = chunks.length === 1 && chunks[0] === bytes;
    return { text: isSame ? named : (utf8Text(concatBytes(chunks)) ?? ''), redactions: counter.list() };
  }

  words(words: readonly string[], of: 'program' | 'child'): string[] {
    const places = placesOfSecrets(words);
    // What went by in requests must not be pushed out by commands, which a model may write.
    const room = of === 'program' ? places.length : Math.max(0, FROM_CHILDREN_MAX - this.#fromChildren);
    const kept = places.slice(0, room).filter(({ value }) => looksLikeSecret(value));
    if (of === 'child') this.#fromChildren += kept.length;
    this.#secrets.add(kept);
    const named = replacePlaces(words, places, ({ name, value }) => this.#tokens.token(name, value));
    return named.map((word) => this.text(word, 'arguments').text);
  }

  body(where = 'request.body'): BodyRedactor {
    const finders = [...this.#finders(), this.#fields(), new FormFieldFinder(this.#tokens)];
    return new BodyRedactor(finders, new RedactionCounter(), where);
  }

  #headerUrls(name: string, value: string, counter: RedactionCounter): string {
    if (!URL_HEADERS.has(name)) return this.#urls(value, `header:${name}`, counter);
    const { url, found } = redactUrl(value, this.#tokens);
    for (const { token } of found) counter.add(`header:${name}`, token);
    return url;
  }

  /** Replaces the credentials in the URLs within a text. */
  #urls(text: string, where: string, counter: RedactionCounter): string {
    if (!text.includes('://')) return text;
    return text.replace(URL_IN_TEXT, (url) => {
      const redacted = redactUrl(url, this.#tokens);
      for (const { token } of redacted.found) counter.add(where, token);
      return redacted.url;
    });
  }

  #fields(): Finder {
    return new JsonFieldFinder(this.#tokens);
  }

  #finders(): Finder[] {
    const finders: Finder[] = [new SecretFinder(this.#secrets)];
    if (this.#patterns.length > 0) finders.push(new PatternFinder(this.#patterns, this.#tokens));
    return finders;
  }

  #hasKnown(text: string): boolean {
    const hits: NeedleHit[] = [];
    const bytes = utf8(text);
    this.#secrets.needles.find(bytes, 0, bytes.length, hits);
    return hits.length > 0 || this.#patterns.some(({ regexp }) => text.search(regexp) !== -1);
  }

  /** Replaces known secrets and what patterns match in a short text. */
  #known(text: string, where: string, counter: RedactionCounter): string {
    if (!this.#hasKnown(text)) return text;
    const body = new BodyRedactor(this.#finders(), counter, where);
    const bytes = utf8(text);
    return utf8Text(concatBytes([...body.push(bytes), ...body.end()])) ?? text;
  }
}
