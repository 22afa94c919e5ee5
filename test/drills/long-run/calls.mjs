/** Calls of every kind, played into a sink as a tap plays them. */
import { gzipSync } from 'node:zlib';

const json = (value) => Buffer.from(JSON.stringify(value));
const CONVERSATIONS = 200;
const LONGEST = 5;
const JSON_HEADERS = [['content-type', 'application/json']];
/** A failed call without this waits a minute for its retry, and holds the file that it began in for as long. */
const NO_RETRY = [['x-should-retry', 'false']];
const SSE_HEADERS = [['content-type', 'text/event-stream']];
const COMPLETE = { ending: 'complete', stage: 'done' };
const filler = 'An orange is round, and so is this text. '.repeat(6);

/** A program that is recorded: some hundred conversations at a time, each with its messages. */
export function startProgram(sink) {
  return {
    sink,
    conversations: [],
    delivery: 0,
    clock: 1_800_000_000_000_000_000n,
    /** What was made, by kind. */
    made: { plain: 0, stream: 0, gzip: 0, retried: 0, cut: 0, http: 0, wrapped: 0, inferred: 0, declared: 0 },
    random: randomOf(20_261_130),
  };
}

function randomOf(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const hex = (program, digits) =>
  Array.from({ length: digits / 8 }, () =>
    Math.floor(program.random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0'),
  ).join('');

function conversation(program) {
  const at = Math.floor(program.random() * CONVERSATIONS);
  const known = program.conversations[at];
  if (known && known.messages.length < 2 * LONGEST) return known;
  const isDeclared = program.random() < 0.2;
  const made = {
    messages: [{ role: 'user', content: `${hex(program, 16)} ${filler}` }],
    ...(isDeclared ? { session: { id: `session-${hex(program, 16)}`, userId: 'u' } } : {}),
    ...(program.random() < 0.3 ? { parent: { traceId: hex(program, 32), spanId: hex(program, 16) } } : {}),
    place: {},
  };
  if (isDeclared) program.made.declared += 1;
  program.conversations[at] = made;
  return made;
}

const contextOf = ({ session, parent, place }) => ({
  scope: [],
  place,
  ...(session ? { session } : {}),
  ...(parent ? { parent } : {}),
});

function open(program, talk, { kind = 'llm', url = 'https://api.example.test/v1/chat/completions', body }) {
  program.clock += 1_000_000n;
  const exchange = program.sink.open({
    kind,
    client: 'undici',
    method: 'POST',
    url,
    startUnixNano: program.clock,
    context: contextOf(talk),
  });
  exchange.requestHead(JSON_HEADERS, []);
  exchange.requestChunk(body, 1000, true);
  exchange.requestEnd(2000);
  return exchange;
}

function answer(program, exchange, { status = 200, headers = JSON_HEADERS, chunks, end = COMPLETE }) {
  exchange.responseHead({
    status,
    statusText: '',
    httpVersion: '1.1',
    headers,
    atNano: 10_000,
    delivery: ++program.delivery,
  });
  chunks.forEach((chunk, i) => exchange.responseChunk(chunk, 20_000 + i, ++program.delivery));
  exchange.end(end, 900_000);
}

function completion(program, message) {
  return json({
    id: `chatcmpl-${hex(program, 24)}`,
    object: 'chat.completion',
    model: 'orange-1',
    choices: [{ index: 0, message, finish_reason: message.tool_calls ? 'tool_calls' : 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
  });
}

function* events(program, text) {
  const id = `chatcmpl-${hex(program, 24)}`;
  for (const piece of text.match(/.{1,40}/gs) ?? []) {
    const choices = [{ index: 0, delta: { content: piece } }];
    yield Buffer.from(
      `data: ${JSON.stringify({ id, object: 'chat.completion.chunk', model: 'orange-1', choices })}\n\n`,
    );
  }
  yield Buffer.from('data: [DONE]\n\n');
}

/** One call, and what belongs to it: a retry, a tool. */
export function play(program, number) {
  const { made, random } = program;
  if (number % 50 === 49) return playHttp(program);
  const talk = conversation(program);
  const stream = random() < 0.3;
  const body = json({ model: 'orange-1', messages: talk.messages, ...(stream ? { stream: true } : {}) });
  if (random() < 0.02) {
    const refused = open(program, talk, { body });
    answer(program, refused, { status: 429, chunks: [json({ error: { message: 'slow down', type: 'rate_limit' } })] });
    made.retried += 1;
  }
  const exchange = open(program, talk, { body });
  if (random() < 0.01) {
    made.cut += 1;
    answer(program, exchange, {
      headers: [...SSE_HEADERS, ...NO_RETRY],
      chunks: [[...events(program, 'half of')][0]],
      end: { ending: 'cut', stage: 'response_body', error: new Error('socket hang up') },
    });
    return;
  }
  const asks = random() < 0.2;
  const id = `call_${hex(program, 24)}`;
  const message = asks
    ? {
        role: 'assistant',
        content: null,
        tool_calls: [{ id, type: 'function', function: { name: 'weather', arguments: '{"city":"Köln"}' } }],
      }
    : { role: 'assistant', content: `${hex(program, 8)} ${filler.slice(0, 200)}` };
  if (asks || !stream) playPlain(program, exchange, message);
  else {
    made.stream += 1;
    answer(program, exchange, { headers: SSE_HEADERS, chunks: [...events(program, message.content)] });
  }
  talk.messages.push(message);
  if (asks) playTool(program, talk, id);
  else talk.messages.push({ role: 'user', content: `and then ${hex(program, 8)}?` });
}

function playPlain(program, exchange, message) {
  const bytes = completion(program, message);
  if (program.random() < 0.1) {
    program.made.gzip += 1;
    answer(program, exchange, { headers: [...JSON_HEADERS, ['content-encoding', 'gzip']], chunks: [gzipSync(bytes)] });
    return;
  }
  program.made.plain += 1;
  answer(program, exchange, { chunks: [bytes] });
}

function playTool(program, talk, id) {
  if (program.random() < 0.5) {
    program.made.wrapped += 1;
    const trace = { traceId: hex(program, 32), spanId: hex(program, 16) };
    program.sink.tool({
      name: 'weather',
      context: contextOf(talk),
      startUnixNano: program.clock,
      endUnixNano: program.clock + 1000n,
      args: [{ city: 'Köln' }],
      result: '21 °C',
      trace,
    });
  } else program.made.inferred += 1;
  talk.messages.push({ role: 'tool', tool_call_id: id, content: '21 °C' });
}

function playHttp(program) {
  program.made.http += 1;
  const talk = { place: {} };
  const exchange = open(program, talk, {
    kind: 'http',
    url: `https://www.example.test/${hex(program, 8)}`,
    body: json({ q: 1 }),
  });
  answer(program, exchange, { chunks: [json({ ok: true })] });
}
