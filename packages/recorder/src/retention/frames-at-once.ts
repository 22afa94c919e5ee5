/** Going over the frames of a file synchronously, without the bytes of bodies, for what has to be known before a first write. */
import { constants } from 'node:fs';
import { crc32 } from 'node:zlib';
import { FRAME_HEADER_BYTES, FRAME_MAX_BYTES, SEGMENT_HEADER_BYTES } from '@orangebox/schema';
import type { SegmentFs } from '../segment-directory.ts';
import { HEAD_BYTES, isKnownHeader, TYPE_NAMES, type WalkedFrame } from './frame-walk.ts';

const BLOCK_BYTES = 256 * 1024;
/** Of a larger content the first part tells enough; its checksum is not looked at. */
const CONTENT_MAX_BYTES = 1024 * 1024;
const ID_BYTES = 4;

/**
 * Visits the frames of a file of known size; a visit that gives false ends the walk. True where all that was gone over is
 * undamaged. @throws the file system's error
 */
export function walkFramesAtOnce(
  path: string,
  sizeBytes: number,
  fs: SegmentFs,
  visit: (frame: WalkedFrame) => boolean | void,
): boolean {
  const fd = fs.openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  try {
    const bytesAt = readerOf(fd, sizeBytes, fs);
    const header = bytesAt(0, SEGMENT_HEADER_BYTES);
    if (!header || !isKnownHeader(header)) return false;
    let offset = SEGMENT_HEADER_BYTES;
    while (offset < sizeBytes) {
      const head = bytesAt(offset, HEAD_BYTES);
      if (!head) return false;
      const payloadBytes = head.readUInt32LE(0);
      const checksum = head.readUInt32LE(4);
      const type = TYPE_NAMES.get(head[FRAME_HEADER_BYTES] ?? 0);
      const frameBytes = FRAME_HEADER_BYTES + payloadBytes;
      if (payloadBytes === 0 || payloadBytes > FRAME_MAX_BYTES || offset + frameBytes > sizeBytes) return false;
      const isChunk = type === 'requestChunk' || type === 'responseChunk';
      if (isChunk && payloadBytes <= ID_BYTES) return false;
      const isWhole = payloadBytes <= CONTENT_MAX_BYTES;
      const wanted = isChunk ? HEAD_BYTES + ID_BYTES : Math.min(frameBytes, CONTENT_MAX_BYTES);
      const frame = bytesAt(offset, wanted);
      if (!frame) return false;
      if (!isChunk && isWhole && crc32(frame.subarray(FRAME_HEADER_BYTES)) >>> 0 !== checksum) return false;
      const content = frame.subarray(HEAD_BYTES);
      if (visit({ type, offset, sizeBytes: frameBytes, content, isWhole }) === false) return true;
      offset += frameBytes;
    }
    return true;
  } finally {
    fs.closeSync(fd);
  }
}

/** Reads stretches, a block at a time; what it gives is valid until the next one. */
function readerOf(
  fd: number,
  sizeBytes: number,
  fs: SegmentFs,
): (offset: number, length: number) => Buffer | undefined {
  let block = Buffer.allocUnsafeSlow(Math.min(BLOCK_BYTES, Math.max(1, sizeBytes)));
  let start = 0;
  let filled = 0;
  return (offset, length) => {
    if (offset + length > sizeBytes) return undefined;
    if (offset < start || offset + length > start + filled) {
      if (length > block.length) block = Buffer.allocUnsafeSlow(length);
      start = offset;
      filled = 0;
      while (filled < length) {
        const n = fs.readSync(fd, block, filled, Math.min(block.length, sizeBytes - start) - filled, start + filled);
        if (n <= 0) return undefined;
        filled += n;
      }
    }
    return block.subarray(offset - start, offset - start + length);
  };
}
