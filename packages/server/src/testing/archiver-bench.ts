/** An archiver on a free port for tests, with what it is sent. Not part of the package's surface. */
import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { type Snapshot, snapshotKey } from '@orangebox/schema';
import { createMemoryBucket, type ObjectBucket } from '@orangebox/store';
import { type SentPart, sha256 } from '../../../../test/helpers/otlp-sender.mjs';
import { temporaryDirectory, TestSegments } from '../../../store/src/testing/write-segments.ts';
import { type Archiver, type ArchiverOptions, startArchiver } from '../archiver/archiver.ts';

/** A recorded call as a sender has it. */
export interface Recorded {
  snapshot: Snapshot;
  key: string;
  gzip: Buffer;
  /** The only part. */
  part: SentPart;
}

/** A snapshot whose answer says `sizeBytes` bytes of text that hardly compress. */
export function recorded(sizeBytes = 100): Recorded {
  const { path, remove } = temporaryDirectory();
  try {
    const content = randomBytes(Math.ceil(sizeBytes / 2))
      .toString('hex')
      .slice(0, sizeBytes);
    const message = { role: 'assistant', content };
    const response = [
      JSON.stringify({ object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }] }),
    ];
    const snapshot = new TestSegments(path).call({ attempts: [{ response }] });
    const gzip = gzipSync(JSON.stringify(snapshot));
    return { snapshot, key: snapshotKey(snapshot), gzip, part: { bytes: gzip, digest: snapshot.digest } };
  } finally {
    remove();
  }
}

/** The payload in `count` parts. */
export function partsOf({ gzip, snapshot }: Recorded, count: number): SentPart[] {
  const size = Math.ceil(gzip.length / count);
  return Array.from({ length: count }, (_, index) => ({
    bytes: gzip.subarray(index * size, (index + 1) * size),
    digest: snapshot.digest,
    index,
    count,
    payloadSha256: sha256(gzip),
  }));
}

/** An archiver and its bucket. */
export interface ArchiverBench {
  archiver: Archiver;
  bucket: ObjectBucket;
  lines: Record<string, unknown>[];
  post(body: Uint8Array, headers?: Record<string, string>): Promise<Response>;
  /** Names in the bucket. */
  names(): Promise<string[]>;
  /** Value of a metric, with labels as in the text; 0 when it is not there. */
  metric(name: string): Promise<number>;
}

/** Starts one; `await archiver.stop()` at the end. */
export async function startBench(options: Partial<ArchiverOptions> = {}): Promise<ArchiverBench> {
  const bucket = options.bucket ?? createMemoryBucket();
  const lines: Record<string, unknown>[] = [];
  const archiver = await startArchiver({
    port: 0,
    log: {
      info: (event, fields) => void lines.push({ level: 'info', event, ...fields }),
      warn: (event, fields) => void lines.push({ level: 'warn', event, ...fields }),
    },
    ...options,
    bucket,
  });
  return {
    archiver,
    bucket,
    lines,
    post: (body, headers = {}) =>
      fetch(`${archiver.url}/v1/traces`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-protobuf', ...headers },
        body: body as Uint8Array<ArrayBuffer>,
      }),
    async names() {
      const names: string[] = [];
      for await (const object of bucket.list('')) names.push(object.name);
      return names;
    },
    async metric(name) {
      const line = (await archiver.metrics())
        .split('\n')
        .find((text) => text.startsWith(`orangebox_archiver_${name} `));
      return Number(line?.split(' ').at(-1) ?? 0);
    },
  };
}
