/** Mutated exchanges: bodies by structure and by byte, streams by event, encodings, addresses and headers. */
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { exchanges } from './material.mjs';
import { mutateBytes } from './mutate-bytes.mjs';
import { mutateJson } from './mutate-json.mjs';
import { randomOf } from './random.mjs';

/** A secret that the redactor knows by its value; where it stands in a body, it must not come out. */
export const PLANTED = 'sk-planted-0123456789abcdef';

const PATHS = [
  'chat/completions',
  'responses',
  'embeddings',
  'completions',
  'messages',
  'm:generateContent',
  'model/m/converse',
  'model/m/converse-stream',
  'api/chat',
  'rerank',
  'interactions',
  'models',
  '',
];
const TYPES = [
  'application/json',
  'text/event-stream',
  'application/vnd.amazon.eventstream',
  'multipart/form-data; boundary=b',
  'multipart/form-data',
  'audio/mpeg',
  'application/x-ndjson',
  '',
];
const PACKERS = {
  gzip: gzipSync,
  br: brotliCompressSync,
  deflate: deflateSync,
  'deflate, gzip': (bytes) => gzipSync(deflateRawSync(bytes)),
};

const bombs = new Map();

/** A bomb: a few KB that unpack to more than the drills' bound. */
function bomb(encoding) {
  const known = bombs.get(encoding) ?? PACKERS[encoding](Buffer.alloc(16 * 2 ** 20, 'data: {}\n\n'));
  bombs.set(encoding, known);
  return known;
}

const parsed = new WeakMap();

/** The JSON of a body or of each of its events, parsed once; undefined where it is none. */
function jsonOf(bytes) {
  if (!parsed.has(bytes)) {
    try {
      parsed.set(bytes, JSON.parse(bytes.toString('utf8')));
    } catch {
      parsed.set(bytes, undefined);
    }
  }
  return parsed.get(bytes);
}

const events = new WeakMap();

function eventsOf(bytes) {
  if (!events.has(bytes)) events.set(bytes, bytes.toString('utf8').split('\n\n').map(eventOf));
  return events.get(bytes);
}

function eventOf(text) {
  const at = text.lastIndexOf('data: ');
  try {
    return { text, head: text.slice(0, at + 6), data: at < 0 ? undefined : JSON.parse(text.slice(at + 6)) };
  } catch {
    return { text, head: '', data: undefined };
  }
}

const ENDS = ['\n\n', '\n\n', '\n\n', '\r\n\r\n', '\r\r', '\n', '', '\n\n\n:\n\n'];

function mutateStream(bytes, random) {
  const list = [...eventsOf(bytes)];
  for (let count = 1 + random.below(3); count > 0; count--) {
    const at = random.below(list.length);
    const event = list[at];
    const way = random.below(5);
    if (way === 0) list.splice(at, 1);
    else if (way === 1) list.splice(at, 0, list[random.below(list.length)]);
    else if (way === 2) [list[at], list[0]] = [list[0], list[at]];
    else if (event?.data !== undefined)
      list[at] = { ...event, data: undefined, text: `${event.head}${mutateJson(event.data, random)}` };
    if (list.length === 0) break;
  }
  const end = random.pick(ENDS);
  return Buffer.from(list.map(({ text }) => text).join(end) + end);
}

function mutateBody(bytes, random) {
  const way = random.next();
  if (way < 0.1) return bytes;
  if (way < 0.75) {
    const value = jsonOf(bytes);
    if (value !== undefined) return Buffer.from(mutateJson(value, random));
    if (bytes.subarray(0, 300).includes('data:')) return mutateStream(bytes, random);
  }
  if (way > 0.99) return Buffer.from(`{"a":${'['.repeat(random.below(random.chance(0.05) ? 200_000 : 5000))}`);
  return mutateBytes(bytes, random, random.pick(exchanges).response);
}

function plant(bytes, random) {
  const at = random.below(bytes.length + 1);
  return Buffer.concat([
    bytes.subarray(0, at),
    Buffer.from(random.chance(0.5) ? PLANTED : `"${PLANTED}"`),
    bytes.subarray(at),
  ]);
}

/**
 * The exchange of a number: `{method, url, requestType, responseType, status, request, response, encoding?, split, cut?}`; `split` is
 * the size that its chunks have.
 */
export function bodyInput(seed, index) {
  const random = randomOf(seed, 'body', index);
  const from = random.pick(exchanges);
  const input = { ...from, split: 1 + random.below(random.chance(0.5) ? 40 : 4000) };
  input.request = mutateBody(from.request, random);
  input.response = mutateBody(random.chance(0.9) ? from.response : random.pick(exchanges).response, random);
  if (random.chance(0.1)) input.request = plant(input.request, random);
  if (random.chance(0.1)) input.url = `https://a.test/v1/${random.pick(PATHS)}`;
  if (random.chance(0.02)) input.url = mutateBytes(Buffer.from(from.url), random).toString('latin1');
  if (random.chance(0.1)) input.responseType = random.pick(TYPES);
  if (random.chance(0.05)) input.requestType = random.pick(TYPES);
  if (random.chance(0.1)) input.status = random.pick([200, 204, 400, 429, 500, 0, 999]);
  if (random.chance(0.05)) input.method = random.pick(['GET', 'PUT', '', 'post']);
  if (random.chance(0.08)) encode(input, random);
  return input;
}

function encode(input, random) {
  if (random.chance(0.005)) {
    input.encoding = random.pick(['gzip', 'br', 'deflate']);
    input.response = bomb(input.encoding);
    input.isBomb = true;
    return;
  }
  const encoding = random.pick(Object.keys(PACKERS));
  input.encoding = random.chance(0.9)
    ? encoding
    : random.pick(['zstd', 'x', 'gzip,gzip,gzip,gzip,gzip,gzip', '', 'identity']);
  input.response = PACKERS[encoding](input.response);
  if (random.chance(0.7)) input.response = mutateBytes(input.response, random);
}

/** An input as a file, and back. */
export const bodyFile = ({ request, response, ...rest }) =>
  JSON.stringify({ ...rest, request: request.toString('base64'), response: response.toString('base64') });
export function bodyOfFile(text) {
  const { request, response, ...rest } = JSON.parse(text);
  return { ...rest, request: Buffer.from(request, 'base64'), response: Buffer.from(response, 'base64') };
}
