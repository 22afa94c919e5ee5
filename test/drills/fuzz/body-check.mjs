/** Everything that reads bodies, over one exchange. Throws what a reader must never throw, or a wrong answer of it. */
import {
  chainOf,
  compareSnapshots,
  confirmBody,
  ConversationIndex,
  createRedactor,
  describeCall,
  encodeBody,
  parseIndexRow,
  parseSse,
  recogniseRequest,
  SseParser,
  ToolJoins,
  toolResultsOf,
} from '@orangebox/codec';
import { decodeContent as decodeRecorded } from '@orangebox/recorder';
import { OrangeboxError } from '@orangebox/schema';
import { decodePayload, decodeStart, readTraceRequest } from '@orangebox/store';
import { PLANTED } from './body-inputs.mjs';
import { decodeBounded, UNPACKED_MAX_BYTES } from './decode.mjs';
import { sha256 } from './material.mjs';

const PLANTED_BYTES = Buffer.from(PLANTED);
const LIMITS = { fields: 10_000, events: 100 };

let index;
let joins;
let redactor;
let before;

/** Forgets what earlier inputs left: what a check says then depends on its own input alone. */
export function resetBodies() {
  index = new ConversationIndex({ sha256, maxEntries: 50 });
  joins = new ToolJoins();
  redactor = createRedactor({ secrets: [{ name: 'planted', value: PLANTED }], patterns: [/card-\d{4}/] });
  before = undefined;
}
resetBodies();

function* pieces(bytes, size) {
  const step = Math.max(size, Math.ceil(bytes.length / 400));
  for (let at = 0; at < bytes.length; at += step) yield bytes.subarray(at, at + step);
}

function exchangeOf({ method, url, requestType, responseType, status, request, response, encoding }) {
  return {
    attempt: 0,
    startUnixNano: '1700000000000000000',
    endOffsetNano: '1000',
    client: 'undici',
    request: {
      method,
      url,
      headers: [['Content-Type', requestType]],
      body: encodeBody(request),
      chunks: [],
      sent: true,
    },
    response: {
      status,
      statusText: '',
      headers: [['Content-Type', responseType], ...(encoding === undefined ? [] : [['Content-Encoding', encoding]])],
      headOffsetNano: '500',
      body: encodeBody(response),
      chunks: [],
    },
    ending: 'complete',
    stage: 'done',
  };
}

function checkStream(bytes, split) {
  const parser = new SseParser();
  const events = [];
  for (const piece of pieces(bytes, split)) events.push(...parser.push(piece));
  parser.end();
  const whole = parseSse(bytes);
  if (events.length !== whole.length || JSON.stringify(events) !== JSON.stringify(whole)) {
    throw new Error(`${whole.length} events at once, ${events.length} in pieces of ${split}, or not the same`);
  }
}

function checkRedaction(bytes, split) {
  const body = redactor.body();
  const out = [];
  let pushed = 0;
  for (const piece of pieces(bytes, split)) {
    pushed += 1;
    out.push(...body.push(piece));
  }
  out.push(...body.end());
  if (out.length !== pushed) throw new Error(`${pushed} chunks went in, ${out.length} came out`);
  const whole = Buffer.concat(out);
  if (whole.includes(PLANTED_BYTES)) throw new Error('a known secret came through the redactor');
  if (body.heldBytes !== 0) throw new Error(`${body.heldBytes} bytes are held after the end`);
}

/** A stored document, an index row and an OTLP request of these bytes: what else a reader may be handed. */
async function checkObjects({ request, response }, exchange) {
  for (const bytes of [request, response]) {
    parseIndexRow(bytes.toString('utf8'));
    try {
      await decodePayload(bytes, 'fuzz', UNPACKED_MAX_BYTES);
    } catch (error) {
      if (!(error instanceof OrangeboxError)) throw error;
    }
    try {
      readTraceRequest(bytes, LIMITS);
    } catch (error) {
      // It says of itself that it throws plain errors; those of the platform would be faults.
      if (error instanceof TypeError || (error instanceof RangeError && /call stack|array length/i.test(error.message)))
        throw error;
    }
  }
  await decodeStart(exchange.response.headers[1]?.[1] ?? 'gzip', response, 4096);
}

/** Checks one exchange; `number` decides which of the dear checks it gets. */
export async function checkBody(input, number) {
  const { method, url, requestType, request, response, split, encoding } = input;
  recogniseRequest(method, url, requestType);
  confirmBody(request);
  redactor.url(url);
  const exchange = exchangeOf(input);
  const { call, request: asked, response: answered } = describeCall({ exchanges: [exchange] }, decodeBounded);
  JSON.stringify([call, asked, answered]);
  chainOf(asked, answered, sha256);
  toolResultsOf(asked);
  joins.answer(asked);
  joins.ask(String(number), answered.toolCalls);
  index.match(asked);
  index.add({ id: String(number), session: 's' }, asked, answered);
  checkRedaction(number % 2 === 0 ? request : response, split);
  if (encoding === undefined) checkStream(response, split);
  else {
    const decoded = decodeBounded(encoding, response);
    // A bomb stays within the recorder's own bound, which is far above that of the drills.
    if (input.isBomb !== true) decodeRecorded(encoding, response);
    if (decoded && decoded.length > UNPACKED_MAX_BYTES) throw new Error(`unpacked to ${decoded.length} bytes`);
  }
  if (before && number % 4 === 0) compareSnapshots({ exchanges: [before] }, { exchanges: [exchange] }, decodeBounded);
  if (number % 16 === 0) await checkObjects(input, exchange);
  before = exchange;
}

/** That no input has changed what all objects have. */
export function checkPrototypes() {
  const names =
    Object.getOwnPropertyNames(Object.prototype).length + Object.getOwnPropertyNames(Array.prototype).length;
  if (names !== PROTOTYPE_NAMES) throw new Error('the prototype of all objects or arrays was changed');
}
const PROTOTYPE_NAMES =
  Object.getOwnPropertyNames(Object.prototype).length + Object.getOwnPropertyNames(Array.prototype).length;
