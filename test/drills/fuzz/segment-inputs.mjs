/** Mutated segments: by frame, by record and by byte. */
import { crc32 } from 'node:zlib';
import { encodeRecord, encodeSegmentHeader } from '@orangebox/codec';
import { recordLists } from './material.mjs';
import { mutateBytes } from './mutate-bytes.mjs';
import { mutateJson } from './mutate-json.mjs';
import { randomOf } from './random.mjs';

const HEADER = Buffer.from(encodeSegmentHeader());
const LENGTHS = [0, 1, 8, 0x00ff_ffff, 83_886_080, 83_886_081, 0x7fff_ffff, 0xffff_ffff];

/** Frames with their records, encoded once. */
const framed = (records) => records.map((record) => ({ record, frame: Buffer.from(encodeRecord(record, crc32)) }));
const START = framed(recordLists.start);
const GOLDEN = framed(recordLists.golden);
const OTHER = framed(recordLists.other);
const CALLS = recordLists.calls.map(framed);

/** A frame of a payload with a right checksum. */
function frameOf(type, content) {
  const frame = Buffer.allocUnsafe(9 + content.length);
  frame.writeUInt32LE(1 + content.length, 0);
  frame[8] = type;
  content.copy(frame, 9);
  return sealed(frame);
}

function sealed(frame) {
  frame.writeUInt32LE(crc32(frame.subarray(8)), 4);
  return frame;
}

const isChunk = ({ record }) => record?.type === 'requestChunk' || record?.type === 'responseChunk';

/** Each changes the list of frames at a place. */
const FRAME_WAYS = [
  (frames, at) => frames.splice(at, 1),
  (frames, at) => frames.splice(at, 0, frames[at]),
  (frames, at, random) => frames.splice(at, 0, random.pick(random.pick(CALLS))),
  (frames, at, random) => frames.splice(at, 0, random.pick(OTHER)),
  (frames, at, random) => {
    const other = random.below(frames.length);
    [frames[at], frames[other]] = [frames[other], frames[at]];
  },
  // A length that is wrong.
  (frames, at, random) => {
    const frame = Buffer.from(frames[at].frame);
    frame.writeUInt32LE(random.chance(0.5) ? random.pick(LENGTHS) : random.below(4 * frame.length), 0);
    frames[at] = { frame };
  },
  // Another type over the same content, all of it valid by its checksum.
  (frames, at, random) => {
    const frame = Buffer.from(frames[at].frame);
    frame[8] = random.below(random.chance(0.8) ? 18 : 256);
    frames[at] = { frame: sealed(frame) };
  },
  // Bytes changed, checksum right.
  (frames, at, random) => {
    const { frame } = frames[at];
    frames[at] = { frame: frameOf(frame[8], mutateBytes(frame.subarray(9), random)) };
  },
  (frames, at, random) => {
    const text = random.pick([
      '',
      '{',
      'null',
      '[]',
      '{}',
      '"x"',
      '[[[[[[',
      '{"exchangeId":1}',
      `{"a":${'['.repeat(5000)}`,
    ]);
    frames[at] = { frame: frameOf(1 + random.below(16), Buffer.from(text)) };
  },
];

function changeChunk(frame, random) {
  const out = Buffer.from(frame);
  const at = random.pick([9, 13, 21, 25]);
  if (at === 13) out.writeDoubleLE(random.pick([Number.NaN, -1, 1e300, Number.POSITIVE_INFINITY, 0.5, 2 ** 53, 7]), 13);
  else out.writeUInt32LE(random.pick([0, 1, 2, 3, 0xffff_ffff, 0x8000_0000]), at);
  return sealed(out);
}

function changeRecord(frames, at, random) {
  const entry = frames[at];
  if (isChunk(entry)) frames[at] = { frame: changeChunk(entry.frame, random) };
  else if (entry.record) {
    const { type: _, ...content } = entry.record;
    frames[at] = { frame: frameOf(entry.frame[8], Buffer.from(mutateJson(content, random))) };
  }
}

function someFrames(random) {
  if (random.chance(0.15)) return [...GOLDEN];
  const frames = random.chance(0.95) ? [...START] : [];
  const calls = Array.from({ length: random.chance(0.3) ? 2 : 1 }, () => random.pick(CALLS));
  if (random.chance(0.3)) {
    // As a process writes them: of calls that run at the same time.
    const queues = calls.map((call) => [...call]);
    while (queues.some((queue) => queue.length > 0)) frames.push(...random.pick(queues).splice(0, 1 + random.below(3)));
  } else for (const call of calls) frames.push(...call);
  if (random.chance(0.5))
    for (let n = random.below(4); n >= 0; n--) frames.splice(random.below(frames.length + 1), 0, random.pick(OTHER));
  return frames;
}

/** The segment of a number. */
export function segmentInput(seed, index) {
  const random = randomOf(seed, 'segment', index);
  const frames = someFrames(random);
  for (let count = random.below(4); count > 0 && frames.length > 0; count--) {
    const at = random.below(frames.length);
    if (random.chance(0.5)) changeRecord(frames, at, random);
    else random.pick(FRAME_WAYS)(frames, at, random);
  }
  const bytes = Buffer.concat([HEADER, ...frames.map(({ frame }) => frame)]);
  return random.chance(0.5) ? mutateBytes(bytes, random) : bytes;
}
