/** Changes bytes without a thought for what they mean. */

const NUMBERS = [0, 1, 0x7f, 0x80, 0xff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0x0500_0000, 0x0500_0001, 0x4000_0000];

/** Each takes bytes, a generator and bytes of another input, and gives new bytes; the given ones may be changed. */
const WAYS = [
  function flipBit(bytes, random) {
    if (bytes.length > 0) bytes[random.below(bytes.length)] ^= 1 << random.below(8);
    return bytes;
  },
  function setByte(bytes, random) {
    if (bytes.length > 0) bytes[random.below(bytes.length)] = random.below(256);
    return bytes;
  },
  function setNumber(bytes, random) {
    if (bytes.length >= 4) bytes.writeUInt32LE(random.pick(NUMBERS), random.below(bytes.length - 3));
    return bytes;
  },
  function truncate(bytes, random) {
    return bytes.subarray(0, random.below(bytes.length + 1));
  },
  function behead(bytes, random) {
    return bytes.subarray(random.below(Math.min(bytes.length, 64) + 1));
  },
  function remove(bytes, random) {
    const from = random.below(bytes.length + 1);
    return Buffer.concat([bytes.subarray(0, from), bytes.subarray(from + 1 + random.below(40))]);
  },
  function insert(bytes, random) {
    const at = random.below(bytes.length + 1);
    const piece = Buffer.alloc(1 + random.below(24), random.below(256));
    return Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at)]);
  },
  function double(bytes, random) {
    const from = random.below(bytes.length + 1);
    const piece = bytes.subarray(from, from + 1 + random.below(200));
    const times = random.chance(0.02) ? 200 : 1;
    return Buffer.concat([
      bytes.subarray(0, from),
      ...Array.from({ length: times }, () => piece),
      bytes.subarray(from),
    ]);
  },
  function splice(bytes, random, other) {
    const from = random.below(other.length + 1);
    return Buffer.concat([bytes.subarray(0, random.below(bytes.length + 1)), other.subarray(from)]);
  },
  function zeroTail(bytes, random) {
    return bytes.fill(0, random.below(bytes.length + 1));
  },
];

/** The bytes after one to four changes. */
export function mutateBytes(bytes, random, other = bytes) {
  let out = Buffer.from(bytes);
  for (let count = 1 + random.below(4); count > 0; count--) out = random.pick(WAYS)(out, random, other);
  return out;
}
