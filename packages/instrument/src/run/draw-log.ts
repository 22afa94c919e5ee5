/** Records outside values in batches. */
import type { DrawnValue, DrawsRecord, Json } from '@orangebox/schema';
import type { Drawn, DrawPort } from './ports.ts';

/** So many are written together at most: what a killed process loses is bounded. */
const BATCH = 64;
/** And so many characters of text, of which bytes drawn at random can be many. */
const BATCH_CHARS = 1024 * 1024;

/** What the log writes through. */
export interface DrawLogHost {
  nextSeq(): number;
  record(record: DrawsRecord): void;
}

/** Asks the platform and notes what it says. */
export class DrawLog implements DrawPort {
  readonly #host: DrawLogHost;
  #draws: DrawnValue[] = [];
  #chars = 0;

  constructor(host: DrawLogHost) {
    this.#host = host;
  }

  draw<T extends Drawn>(source: string, at: string, real: () => T): T {
    const value = real();
    const noted = toJson(value);
    this.#draws.push({ seq: this.#host.nextSeq(), source, value: noted, at });
    if (typeof noted === 'string') this.#chars += noted.length;
    if (this.#draws.length >= BATCH || this.#chars > BATCH_CHARS) this.flush();
    return value;
  }

  /** Writes what is held; before anything that comes later in the order. */
  flush(): void {
    if (this.#draws.length === 0) return;
    const draws = this.#draws;
    this.#draws = [];
    this.#chars = 0;
    this.#host.record({ type: 'draws', draws });
  }
}

function toJson(value: Drawn): Json {
  if (typeof value === 'bigint') return String(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  return value;
}
