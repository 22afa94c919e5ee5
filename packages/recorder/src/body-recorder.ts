/** One body on its way into records: copied once, secrets replaced, cut at the limit. */
import { appendAll } from '@orangebox/codec';
import type { BodyRedactor } from '@orangebox/codec';
import type { ChunkRecord, Redaction } from '@orangebox/schema';
import { decodeChunks, decodeContent } from './content-decoding.ts';

/** Bytes past the limit that are still searched, so that no half of a secret stays before it. */
const SEARCH_PAST_LIMIT_BYTES = 8192;

interface ChunkMeta {
  offsetNano: number;
  delivery: number;
  wireSizeBytes: number;
}

/** How a body is recorded. */
export interface BodyOptions {
  type: ChunkRecord['type'];
  exchangeId: number;
  limitBytes: number;
  redactor: () => BodyRedactor;
  /** Content codings to undo before searching; empty for plain bodies. */
  codings: readonly string[];
}

/** Records one body. A coded body gives no chunk before {@link BodyRecorder.finish}. */
export class BodyRecorder {
  readonly #options: BodyOptions;
  readonly #meta: ChunkMeta[] = [];
  #redactor: BodyRedactor | undefined;
  /** Chunks of a coded body, kept until they can be decoded and searched. */
  #coded: Uint8Array[] = [];
  #codedBytes = 0;
  #seenBytes = 0;
  #storedBytes = 0;
  #isFinished = false;
  /** Bytes of the wire are missing from the records. */
  isTruncated = false;
  /** The body was left out: it is of a coding that cannot be undone, so that it cannot be searched. */
  isWithheld = false;
  /** The body was content-encoded and had secrets in it: its chunks are decoded. */
  storedDecoded: { contentEncoding: string; wireSizeBytes: number } | undefined;
  redactions: Redaction[] = [];

  constructor(options: BodyOptions) {
    this.#options = options;
  }

  /** The body is held back until its end. */
  get isCoded(): boolean {
    return this.#options.codings.length > 0;
  }

  /** Bytes that are held and not yet in any record. */
  get pendingBytes(): number {
    return this.#codedBytes;
  }

  /** Takes a view of the wire's bytes; returns the records that are finished with it. */
  push(view: Uint8Array, offsetNano: number, delivery: number): ChunkRecord[] {
    if (this.#isFinished) return [];
    const { limitBytes } = this.#options;
    const before = this.#seenBytes;
    this.#seenBytes += view.length;
    if (this.#seenBytes > limitBytes) this.isTruncated = true;
    if (before > limitBytes + SEARCH_PAST_LIMIT_BYTES) return [];
    // A copy: the view pins a socket buffer, and the program may write to its own buffers.
    const bytes = Buffer.from(view);
    this.#meta.push({ offsetNano, delivery, wireSizeBytes: view.length });
    if (this.isCoded) {
      if (before >= limitBytes) this.#meta.pop();
      else this.#codedBytes += this.#coded[this.#coded.push(bytes.subarray(0, limitBytes - before)) - 1]?.length ?? 0;
      return [];
    }
    this.#redactor ??= this.#options.redactor();
    return this.#records(this.#redactor.push(bytes));
  }

  /** Lets go of held coded bytes for want of memory. */
  giveUp(): void {
    if (this.#coded.length === 0) return;
    this.#coded = [];
    this.#codedBytes = 0;
    this.#meta.length = 0;
    this.isTruncated = true;
    this.#isFinished = true;
  }

  /** The records of the rest of a plain body. */
  finish(): ChunkRecord[] {
    if (this.#isFinished) return [];
    this.#isFinished = true;
    if (!this.#redactor) return [];
    const records = this.#records(this.#redactor.end());
    this.#noteRedactions(this.#redactor);
    return records;
  }

  /** The records of a coded body, decoded beside the program. */
  async finishCoded(): Promise<ChunkRecord[]> {
    if (this.#isFinished) return [];
    const { codings } = this.#options;
    const decoded = await decodeChunks(codings, this.#coded);
    return this.#isFinished ? [] : this.#searchCoded(decoded);
  }

  /** As {@link finishCoded}, for the exit of the process. */
  finishCodedSync(): ChunkRecord[] {
    if (this.#isFinished) return [];
    const all = decodeContent(this.#options.codings.join(','), Buffer.concat(this.#coded));
    // Which chunk brought which decoded bytes is lost here; the first one gets them all.
    const decoded = all && this.#coded.map((_, i) => (i === 0 ? all : new Uint8Array(0)));
    return this.#searchCoded(decoded);
  }

  #searchCoded(decoded: Uint8Array[] | undefined): ChunkRecord[] {
    this.#isFinished = true;
    const raw = this.#coded;
    this.#coded = [];
    this.#codedBytes = 0;
    if (!decoded && !isText(raw)) {
      // Neither of the stated coding nor plain: what stands in it cannot be seen, so it is not kept.
      this.isWithheld = true;
      this.isTruncated = true;
      return [];
    }
    // The bytes as they are, too: after the end of a coding anything may follow.
    const asIs = this.#search(raw);
    if (!decoded) return this.#records(asIs.chunks);
    const clean = this.#search(decoded);
    if (clean.found + asIs.found === 0) return this.#records(raw);
    this.storedDecoded = { contentEncoding: this.#options.codings.join(', '), wireSizeBytes: this.#seenBytes };
    return this.#records(clean.chunks);
  }

  #search(chunks: readonly Uint8Array[]): { chunks: Uint8Array[]; found: number } {
    const redactor = this.#options.redactor();
    const clean = [...chunks.flatMap((chunk) => redactor.push(chunk)), ...redactor.end()];
    this.#noteRedactions(redactor);
    return { chunks: clean, found: redactor.redactions.length };
  }

  #records(chunks: readonly Uint8Array[]): ChunkRecord[] {
    const { type, exchangeId, limitBytes } = this.#options;
    const records: ChunkRecord[] = [];
    for (const chunk of chunks) {
      const meta = this.#meta.shift();
      if (!meta) break;
      const room = limitBytes - this.#storedBytes;
      if (chunk.length > room) this.isTruncated = true;
      if (room <= 0 && chunk.length > 0) continue;
      const bytes = chunk.length > room ? chunk.subarray(0, room) : chunk;
      this.#storedBytes += bytes.length;
      records.push({ type, exchangeId, ...meta, bytes });
    }
    return records;
  }

  #noteRedactions(redactor: BodyRedactor): void {
    const where = this.#options.type === 'requestChunk' ? 'request.body' : 'response.body';
    appendAll(
      this.redactions,
      redactor.redactions.map((redaction) => ({ ...redaction, where })),
    );
  }
}

/** True for UTF-8, which no compressed body is. */
function isText(chunks: readonly Uint8Array[]): boolean {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for (const chunk of chunks) decoder.decode(chunk, { stream: true });
    // A body that was cut short may end within a character.
    return true;
  } catch {
    return false;
  }
}
