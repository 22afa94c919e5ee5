/** CRC-32 (IEEE 802.3, as in gzip and zlib), for where the platform has none. */

/**
 * Checksum of bytes as an unsigned 32-bit number. Node's `zlib.crc32` gives the same, faster.
 *
 * @param before checksum of the bytes before these, 0 when there are none.
 */
export type Crc32 = (bytes: Uint8Array, before?: number) => number;

const SLICES = 8;

/** Eight tables of 256, so that eight bytes are folded in one step; made where they are needed. */
let tables: Uint32Array | undefined;

function makeTables(): Uint32Array {
  const made = new Uint32Array(256 * SLICES);
  for (let n = 0; n < 256; n++) {
    let c = n;
    for (let k = 0; k < 8; k++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
    made[n] = c;
  }
  for (let i = 256; i < made.length; i++) {
    const before = made[i - 256] ?? 0;
    made[i] = (before >>> 8) ^ (made[before & 255] ?? 0);
  }
  return made;
}

/** CRC-32 of bytes, in plain JavaScript. */
export function crc32(bytes: Uint8Array, before = 0): number {
  tables ??= makeTables();
  const t = tables as ArrayLike<number> as number[];
  const b = bytes as ArrayLike<number> as number[];
  const length = bytes.length;
  const whole = length - (length % SLICES);
  let c = ~before;
  let i = 0;
  // The indexes are in range by construction; `!`-free access through `as` keeps the loop free of branches.
  for (; i < whole; i += SLICES) {
    const low =
      c ^ (b[i] as number) ^ ((b[i + 1] as number) << 8) ^ ((b[i + 2] as number) << 16) ^ ((b[i + 3] as number) << 24);
    c =
      (t[0x700 | (low & 255)] as number) ^
      (t[0x600 | ((low >>> 8) & 255)] as number) ^
      (t[0x500 | ((low >>> 16) & 255)] as number) ^
      (t[0x400 | (low >>> 24)] as number) ^
      (t[0x300 | (b[i + 4] as number)] as number) ^
      (t[0x200 | (b[i + 5] as number)] as number) ^
      (t[0x100 | (b[i + 6] as number)] as number) ^
      (t[b[i + 7] as number] as number);
  }
  for (; i < length; i++) c = (c >>> 8) ^ (t[(c ^ (b[i] as number)) & 255] as number);
  return ~c >>> 0;
}
