/** The secrets that are known by value, and the index to search for them. */
import { NeedleSet } from './needles.ts';
import { type NamedSecret, SECRET_MIN_BYTES } from './names.ts';
import type { TokenBook } from './tokens.ts';
import { utf8 } from '../bytes.ts';
import { writtenForms } from './written-forms.ts';

/** Credentials learned from headers and URLs that are searched for; beyond it the oldest goes. */
const LEARNED_MAX = 16;

interface KnownSecret {
  value: string;
  token: string;
  forms: Uint8Array[];
}

/** Secrets known by value. They get their tokens when they are added, so an environment's names come first. */
export class SecretSet {
  /** Index over all forms of all secrets; replaced when secrets are added. */
  needles: NeedleSet = new NeedleSet([]);
  readonly #tokens: TokenBook;
  readonly #given: KnownSecret[] = [];
  readonly #learned: KnownSecret[] = [];
  readonly #values: Set<string> = new Set();
  #tokenOf: string[] = [];

  constructor(tokens: TokenBook) {
    this.#tokens = tokens;
  }

  /** Adds secrets for good; shorter ones than {@link SECRET_MIN_BYTES} and known ones are passed over. */
  add(secrets: Iterable<NamedSecret>): void {
    let added = false;
    for (const { name, value } of secrets) added = this.#admit(this.#given, name, value.trim()) || added;
    if (added) this.#index();
  }

  /** Adds a credential that went by; it is searched for until {@link LEARNED_MAX} newer ones have come. */
  learn(name: string, value: string): void {
    if (!this.#admit(this.#learned, name, value)) return;
    const oldest = this.#learned.length > LEARNED_MAX ? this.#learned.shift() : undefined;
    if (oldest) this.#values.delete(oldest.value);
    this.#index();
  }

  /** The token of a hit of {@link needles}. */
  tokenOf(id: number): string {
    return this.#tokenOf[id] ?? '{{secret:unknown}}';
  }

  #admit(list: KnownSecret[], name: string, value: string): boolean {
    if (this.#values.has(value) || utf8(value).length < SECRET_MIN_BYTES) return false;
    this.#values.add(value);
    list.push({ value, token: this.#tokens.token(name, value), forms: writtenForms(value) });
    return true;
  }

  #index(): void {
    const all = [...this.#given, ...this.#learned];
    this.#tokenOf = all.map((secret) => secret.token);
    this.needles = new NeedleSet(all.flatMap((secret, id) => secret.forms.map((bytes) => ({ bytes, id }))));
  }
}
