import { describe, expect, it } from 'vitest';
import { parseSegmentFileName, parseSnapshotKey, partObjectName, segmentFileName, snapshotKey } from './index.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';

describe('keys', () => {
  it('have the UTC date of the start, the ids and the beginning of the digest', () => {
    const key = snapshotKey({
      time: { startUnixNano: '1767225599999999999' },
      trace: { traceId, spanId },
      digest: 'ab'.repeat(32),
    });
    expect(key).toBe(`v1/20251231/${traceId}/${spanId}/abababababababab`);
    expect(parseSnapshotKey(key)).toEqual({ date: '20251231', traceId, spanId, digest16: 'abababababababab' });
  });

  it('are the same with doubled slashes', () => {
    const key = `v1/20251231/${traceId}/${spanId}/abababababababab`;
    expect(parseSnapshotKey(`/${key.replaceAll('/', '//')}/`)).toEqual(parseSnapshotKey(key));
  });

  it('are nothing else', () => {
    for (const text of ['', 'v1', `v2/20251231/${traceId}/${spanId}/abababababababab`, `../${traceId}`]) {
      expect(parseSnapshotKey(text)).toBeUndefined();
    }
  });
});

describe('names of parts and segments', () => {
  it('number the parts of one payload', () => {
    expect(partObjectName('0123456789abcdef'.repeat(4), 0, 3)).toBe('part-0123456789abcdef-0000-of-0003');
  });

  it('come back from the name of a segment file', () => {
    const id = { host: 'web_1.local', pid: 7, threadId: 0, startUnixMs: 1767225600000, n: 2 };
    expect(parseSegmentFileName(segmentFileName(id))).toEqual(id);
    expect(parseSegmentFileName('../web-7-0-1-2.obxs')).toBeUndefined();
  });
});
