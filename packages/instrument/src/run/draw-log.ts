/** Records outside values in batches. */
import type { DrawnValue, DrawsRecord, Json } from '@orangebox/schema';
import type { Drawn, DrawPort } from './ports.ts';

/** So many are written together at most: what a killed process loses is bounded. */
const BATCH = 64;

/** What the log writes through. */
export interface DrawLogHost {
  nextSeq(): number;
  record(record: DrawsRecord): void;
}

/** Asks the platform and notes what it says. */
export class DrawLog implements DrawPort {
  readonly #host: DrawLogHost;
  #draws: DrawnValue[] = [];

  constructor(host: DrawLogHost) {
    this.#host = host;
  }

  draw<T extends Drawn>(source: string, at: string, real: () => T): T {
    const value = real();
    this.#draws.push({ seq: this.#host.nextSeq(), source, value: toJson(value), at });
    if (this.#draws.length >= BATCH) this.flush();
    return value;
  }

  /** Writes what is held; before anything that comes later in the order. */
  flush(): void {
    if (this.#draws.length === 0) return;
    const draws = this.#draws;
    this.#draws = [];
    this.#host.record({ type: 'draws', draws });
  }
}

function toJson(value: Drawn): Json {
  if (typeof value === 'bigint') return String(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  return value;
}
