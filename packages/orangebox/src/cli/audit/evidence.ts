/** Everything that came out of Orangebox, as bytes to be searched. */
import { type Dirent, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { decodeSegment } from '@orangebox/codec';
import { SEGMENT_EXTENSION, type SegmentRecord } from '@orangebox/schema';
import { errnoOf } from '../exit-codes.ts';
import { unpackBody } from './find-marks.ts';
import type { Observed } from './observations.ts';
import { joinedPayloads, type Received } from './receiver.ts';

/** Bytes and where they were. */
export interface Evidence {
  /** `recording` and `payload` must hold the controls. */
  kind: 'recording' | 'payload' | 'telemetry' | 'file' | 'name' | 'output' | 'socket' | 'child';
  place: string;
  bytes: Uint8Array;
}

/** A file below the directory of recordings. */
export interface RecordedFile {
  path: string;
  mode: number;
  isDirectory: boolean;
  isLink: boolean;
}

const FILE_MAX_BYTES = 256 * 1024 * 1024;

/** Files and directories below one, itself first. */
export function filesBelow(directory: string): RecordedFile[] {
  const files: RecordedFile[] = [];
  const add = (path: string): boolean => {
    const facts = lstatSync(path);
    const isDirectory = facts.isDirectory();
    files.push({ path, mode: facts.mode & 0o777, isDirectory, isLink: facts.isSymbolicLink() });
    return isDirectory;
  };
  const walk = (path: string): void => {
    if (!add(path)) return;
    for (const entry of readdirSync(path, { withFileTypes: true }).sort(byName)) walk(join(path, entry.name));
  };
  try {
    walk(directory);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
  return files;
}

function byName(a: Dirent, b: Dirent): number {
  return a.name < b.name ? -1 : 1;
}

/** What stands in the directory of recordings: names, raw bytes, records, bodies joined and unpacked. */
export function* recordingEvidence(directory: string, files: readonly RecordedFile[]): Generator<Evidence> {
  for (const file of files) {
    const place = relative(directory, file.path) || '.';
    yield { kind: 'name', place: `the name of a file in ${dirname(place)}`, bytes: Buffer.from(place) };
    if (file.isDirectory || file.isLink) continue;
    const bytes = readFileSync(file.path);
    if (bytes.length > FILE_MAX_BYTES) continue;
    yield { kind: 'recording', place, bytes };
    if (file.path.endsWith(SEGMENT_EXTENSION)) yield* segmentEvidence(place, bytes);
  }
}

function* segmentEvidence(place: string, bytes: Buffer): Generator<Evidence> {
  const bodies = new Map<string, Buffer[]>();
  const texts: string[] = [];
  for (const { record } of decodeSegment(bytes) as Iterable<{ record: SegmentRecord }>) {
    if (record.type === 'requestChunk' || record.type === 'responseChunk') {
      const name = `${record.type === 'requestChunk' ? 'request' : 'answer'} ${record.exchangeId} in ${place}`;
      const chunks = bodies.get(name) ?? [];
      chunks.push(Buffer.from(record.bytes));
      bodies.set(name, chunks);
    } else texts.push(JSON.stringify(record));
  }
  yield { kind: 'recording', place: `records of ${place}`, bytes: Buffer.from(texts.join('\n')) };
  for (const [name, chunks] of bodies) {
    const body = Buffer.concat(chunks);
    yield { kind: 'recording', place: `the body of ${name}`, bytes: body };
    for (const inner of unpackBody(body))
      yield { kind: 'recording', place: `the body of ${name}, unpacked`, bytes: inner };
  }
}

/** What the receiver got; `allowed` are header values that belong there. */
export function* receivedEvidence(requests: readonly Received[], allowed: ReadonlySet<string>): Generator<Evidence> {
  for (const [i, { path, headers, body }] of requests.entries()) {
    const own = headers.filter(([name, value]) => !(name.toLowerCase() === 'authorization' && allowed.has(value)));
    yield {
      kind: 'telemetry',
      place: `the head of request ${i} to ${path}`,
      bytes: Buffer.from([path, ...own.map((pair) => pair.join(': '))].join('\n')),
    };
    yield { kind: 'telemetry', place: `request ${i} to ${path}`, bytes: body };
  }
  for (const { key, gzip } of joinedPayloads(requests)) yield { kind: 'payload', place: `payload ${key}`, bytes: gzip };
}

/** What the probes saw of our code, but for files within the directory of recordings. */
export function* observedEvidence(observed: readonly Observed[], recordDir: string): Generator<Evidence> {
  const lines: string[] = [];
  for (const { pid, events } of observed) {
    for (const event of events) {
      if (event.t === 'file') {
        lines.push(event.path);
        if (isBelow(event.path, recordDir)) continue;
        if (event.data !== undefined)
          yield { kind: 'file', place: event.path, bytes: Buffer.from(event.data, 'base64') };
        const bytes = readSmall(event.path);
        if (bytes) yield { kind: 'file', place: event.path, bytes };
      } else if (event.t === 'output') {
        yield {
          kind: 'output',
          place: event.fd === 1 ? 'standard output' : 'standard error',
          bytes: Buffer.from(event.text),
        };
      } else if (event.t === 'bytes') {
        yield {
          kind: 'socket',
          place: `bytes to ${event.host}:${event.port}`,
          bytes: Buffer.from(event.data, 'base64'),
        };
      } else if (event.t === 'udp') {
        yield { kind: 'socket', place: `a datagram to ${event.target}`, bytes: Buffer.from(event.data, 'base64') };
      } else if (event.t === 'dns') {
        yield { kind: 'socket', place: 'a DNS query', bytes: Buffer.from(event.name) };
      } else if (event.t === 'child') {
        const words = [event.file, ...event.words, ...event.env].join('\n');
        yield {
          kind: 'child',
          place: `arguments or environment of a child of process ${pid}`,
          bytes: Buffer.from(words),
        };
      }
    }
  }
  yield { kind: 'name', place: 'the name of a file', bytes: Buffer.from(lines.join('\n')) };
}

/** Whether a path is a directory or below it. */
export function isBelow(path: string, directory: string): boolean {
  const way = relative(directory, path);
  return way === '' || (!way.startsWith('..') && !way.startsWith('/'));
}

function readSmall(path: string): Buffer | undefined {
  try {
    return lstatSync(path).size > FILE_MAX_BYTES ? undefined : readFileSync(path);
  } catch {
    // Gone again, or a directory.
    return undefined;
  }
}
