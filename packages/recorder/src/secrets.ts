/** The redactor, kept in step with `process.env`: programs load their secrets late (dotenv). */
import { createRedactor, type Redactor, secretsOfEnvironment } from '@orangebox/codec';

/** The environment is looked at again at most this often. */
const REFRESH_MS = 1000;
/** Gives the redactor of the process, with the environment's present secrets. */
export class SecretKeeper {
  readonly #env: () => Record<string, string | undefined>;
  readonly #nowMs: () => number;
  readonly #known: Set<string> = new Set();
  readonly #redactor: Redactor;
  #readAtMs: number;

  /** @param nowMs the platform's clock: a program may hold its own still */
  constructor(patterns: RegExp[], env: () => Record<string, string | undefined>, nowMs: () => number) {
    this.#env = env;
    this.#nowMs = nowMs;
    const secrets = secretsOfEnvironment(env());
    for (const { name, value } of secrets) this.#known.add(`${name}\0${value}`);
    this.#redactor = createRedactor({ secrets, patterns });
    this.#readAtMs = nowMs();
  }

  /** The redactor; call it anew for each exchange. */
  redactor(): Redactor {
    const now = this.#nowMs();
    if (now - this.#readAtMs < REFRESH_MS && now >= this.#readAtMs) return this.#redactor;
    this.#readAtMs = now;
    const fresh = secretsOfEnvironment(this.#env()).filter(({ name, value }) => !this.#known.has(`${name}\0${value}`));
    if (fresh.length > 0) {
      for (const { name, value } of fresh) this.#known.add(`${name}\0${value}`);
      this.#redactor.addSecrets(fresh);
    }
    return this.#redactor;
  }
}
