/** Rows of a whole day on their way to index objects, in bounded memory: packed while they wait, one object per minute. */
import { type IndexRow, type IndexObjectId, indexMinute, indexObjectName } from '@orangebox/schema';
import { unixMs } from '../filter.ts';
import type { ObjectBucket } from './bucket.ts';
import { IndexFilter } from './index-filter.ts';
import { indexLine, packIndexLines } from './index-rows.ts';
import { INDEX_LINES_MAX_BYTES } from './index-writer.ts';

/** Bytes of lines that wait unpacked. */
const LINES_MAX_BYTES = 32 * 1024 * 1024;

/** Bytes that wait packed: the rows of about a million calls. Beyond it a minute gets a second object. */
const PACKED_MAX_BYTES = 192 * 1024 * 1024;

interface WaitingMinute {
  id: Pick<IndexObjectId, 'date' | 'minute'>;
  filter: IndexFilter;
  lines: string[];
  linesBytes: number;
  packed: Buffer[];
  /** Bytes of all lines, packed or not. */
  bytes: number;
  generation: number;
}

/** Takes rows in any order and writes them as objects of one writer. */
export class MinuteSpool {
  readonly #bucket: ObjectBucket;
  readonly #writer: string;
  readonly #minutes: Map<string, WaitingMinute> = new Map();
  #linesBytes = 0;
  #packedBytes = 0;
  /** Objects that were written. */
  objectsWritten = 0;

  constructor(bucket: ObjectBucket, writer: string) {
    this.#bucket = bucket;
    this.#writer = writer;
  }

  /** Takes a row, and writes objects where memory is full. */
  async add(row: IndexRow): Promise<void> {
    const id = indexMinute(unixMs(row.time.startUnixNano));
    const name = id.date + id.minute;
    let minute = this.#minutes.get(name);
    if (!minute) {
      minute = { id, filter: new IndexFilter(), lines: [], linesBytes: 0, packed: [], bytes: 0, generation: 0 };
      this.#minutes.set(name, minute);
    }
    const line = indexLine(row);
    minute.lines.push(line);
    minute.filter.add(row);
    minute.linesBytes += line.length;
    minute.bytes += line.length;
    this.#linesBytes += line.length;
    if (minute.bytes >= INDEX_LINES_MAX_BYTES) await this.#write(minute);
    if (this.#linesBytes > LINES_MAX_BYTES) for (const one of this.#minutes.values()) await this.#pack(one);
    if (this.#packedBytes > PACKED_MAX_BYTES) await this.flush();
  }

  /** Writes all that waits. */
  async flush(): Promise<void> {
    for (const minute of this.#minutes.values()) await this.#write(minute);
  }

  async #pack(minute: WaitingMinute): Promise<void> {
    if (minute.lines.length === 0) return;
    const packed = await packIndexLines(minute.lines);
    minute.packed.push(packed);
    this.#packedBytes += packed.length;
    this.#linesBytes -= minute.linesBytes;
    minute.lines = [];
    minute.linesBytes = 0;
  }

  async #write(minute: WaitingMinute): Promise<void> {
    await this.#pack(minute);
    if (minute.packed.length === 0) return;
    const name = indexObjectName({ ...minute.id, writer: this.#writer, generation: minute.generation });
    const bytes = Buffer.concat(minute.packed);
    this.#packedBytes -= bytes.length;
    await this.#bucket.write(name, minute.filter.stamp(bytes), { contentType: 'application/gzip' });
    this.objectsWritten += 1;
    minute.filter = new IndexFilter();
    minute.packed = [];
    minute.bytes = 0;
    minute.generation += 1;
  }
}
