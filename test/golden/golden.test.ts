/**
 * Reads recordings of every format version, for ever. The files are never made anew: when a release reads one of them
 * differently, the release is wrong.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  buildCallSnapshot,
  buildCrashedCallSnapshot,
  buildToolSnapshot,
  collectRecords,
  decodeSegment,
  snapshotDigest,
  snapshotShapeError,
} from '@orangebox/codec';
import { type Snapshot, snapshotKey } from '@orangebox/schema';
import { describe, expect, it } from 'vitest';

const sha256 = (data: Uint8Array | string): string => createHash('sha256').update(data).digest('hex');
const read = (path: string): Buffer => readFileSync(new URL(path, import.meta.url));

describe('the golden recording of format version 1', () => {
  const file = read('./v1/recording.obxs');
  const expected = JSON.parse(read('./v1/snapshots.json').toString()) as Snapshot[];
  const decoder = decodeSegment(file);
  const collected = collectRecords([...decoder].map((frame) => frame.record));
  const { process } = collected;
  if (!process) throw new Error('the recording has a process');

  it('has the bytes it always had', () => {
    expect(sha256(file)).toBe('7be0cf0c0493bf96d763bb66e46f815b848598ad62e83e57e1254f94f2c4a8d0');
  });

  it('is read whole', () => {
    expect(decoder.end).toEqual({
      version: 1,
      state: 'clean',
      frames: 23,
      wholeBytes: file.length,
      damagedFrames: 0,
      damagedBytes: 0,
      unknownFrames: 1,
      closed: true,
    });
  });

  it('gives the call’s snapshot, with the digest and the key that stand on the call’s own record', () => {
    const [call] = collected.calls;
    if (!call) throw new Error('the recording has a call');
    const exchanges = call.exchangeIds.flatMap((id) => collected.exchanges.get(id) ?? []);
    const snapshot = buildCallSnapshot({ call, exchanges, process }, sha256);
    expect(snapshot).toEqual(expected[0]);
    expect(snapshot.digest).toBe('a841c76d1b6ee7abb683db2f676c2ad6cf63cd471014af322e7c59b742ed3eaf');
    expect(call.digest).toBe(snapshot.digest);
    expect(call.key).toBe(snapshotKey(snapshot));
    expect(collected.shipped).toEqual(new Set([call.key]));
  });

  it('gives the tool’s snapshot and that of the call the process died in', () => {
    const [tool] = collected.tools;
    const [open] = collected.open;
    if (!tool || !open) throw new Error('the recording has both');
    expect(buildToolSnapshot(tool, process, sha256)).toEqual(expected[1]);
    expect(buildCrashedCallSnapshot(open, process, sha256)).toEqual(expected[2]);
    expect(tool.digest).toBe(expected[1]?.digest);
  });

  it('states digests that the documents have', () => {
    for (const snapshot of expected) {
      expect(snapshotShapeError(snapshot)).toBeUndefined();
      expect(snapshotDigest(snapshot, sha256)).toBe(snapshot.digest);
    }
  });
});
