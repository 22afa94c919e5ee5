/** The local provider: answers the seeded calls as planned, and the program's own SDK with something that holds marks. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chat, events } from './seed-plan.ts';

/** How a seeded call is answered. */
export interface PlannedAnswer {
  status?: number;
  reason?: string;
  headers?: [string, string][];
  text?: string;
  bytes?: Buffer;
  /** Byte by byte. */
  inPieces?: boolean;
  /** The connection ends in the middle of the body. */
  cut?: boolean;
}

/** A running provider. */
export interface Provider {
  origin: string;
  port: number;
  /** Header names of requests that carried a seed's number, by that number. */
  seen: Map<number, string[]>;
  /** Requests without a number: the program's. */
  programCalls(): number;
  answer(answers: ReadonlyMap<number, PlannedAnswer>, words: ProgramWords): void;
  close(): Promise<void>;
}

/** Marks in the answers to the program's own calls. */
export interface ProgramWords {
  content: string;
  cookie: string;
  token: string;
}

const BODY_MAX_BYTES = 64 * 1024 * 1024;

/** Starts it on loopback. */
export async function startProvider(): Promise<Provider> {
  let answers: ReadonlyMap<number, PlannedAnswer> = new Map();
  let words: ProgramWords = { content: '', cookie: '', token: '' };
  let others = 0;
  const seen = new Map<number, string[]>();
  const server = createServer((request, response) => {
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    void bodyOf(request).then(
      (body) => {
        const seed = request.headers['x-seed'];
        if (typeof seed === 'string') {
          seen.set(
            Number(seed),
            request.rawHeaders.filter((_, i) => i % 2 === 0),
          );
          return answerPlanned(response, answers.get(Number(seed)) ?? {});
        }
        others += 1;
        return answerProgram(request, response, body, words);
      },
      () => request.destroy(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    seen,
    programCalls: () => others,
    answer(next, nextWords) {
      answers = next;
      words = nextWords;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** The bytes of a request. */
export async function bodyOf(request: IncomingMessage, maxBytes: number = BODY_MAX_BYTES): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += (chunk as Buffer).length;
    if (size > maxBytes) throw new Error(`a request has more than ${maxBytes} bytes`);
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}

async function answerPlanned(response: ServerResponse, answer: PlannedAnswer): Promise<void> {
  const bytes = answer.bytes ?? Buffer.from(answer.text ?? chat('ok'));
  const headers: [string, string][] = [['content-type', 'application/json'], ...(answer.headers ?? [])];
  // Its own type comes last and wins.
  response.statusCode = answer.status ?? 200;
  if (answer.reason !== undefined) response.statusMessage = answer.reason;
  for (const [name, value] of headers) response.setHeader(name, value);
  if (answer.cut) {
    response.setHeader('content-length', bytes.length + 100);
    response.write(bytes, () => setImmediate(() => response.destroy()));
    return;
  }
  if (!answer.inPieces) {
    response.end(bytes);
    return;
  }
  for (let at = 0; at < bytes.length && !response.destroyed; at += 1) {
    await new Promise((resolve) => response.write(bytes.subarray(at, at + 1), resolve));
  }
  response.end();
}

/** Enough of the protocols for a program that asks something: chat, responses, embeddings, plain and streamed. */
function answerProgram(request: IncomingMessage, response: ServerResponse, body: Buffer, words: ProgramWords): void {
  const asked = parsed(body);
  const path = (request.url ?? '').split('?')[0] ?? '';
  response.setHeader('set-cookie', `session=${words.cookie}; Path=/; HttpOnly`);
  response.setHeader('x-auth-token', words.token);
  const isStream = asked['stream'] === true;
  response.setHeader('content-type', isStream ? 'text/event-stream' : 'application/json');
  if (path.endsWith('/chat/completions')) response.end(isStream ? events(words.content) : chat(words.content));
  else if (path.endsWith('/responses')) {
    const answer = responseObject(words.content);
    if (!isStream) response.end(JSON.stringify(answer));
    else {
      const event = (type: string, more: object): string =>
        `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
      response.write(event('response.created', { response: { ...answer, status: 'in_progress', output: [] } }));
      response.write(
        event('response.output_text.delta', {
          item_id: 'msg_seed',
          output_index: 0,
          content_index: 0,
          delta: words.content,
        }),
      );
      response.end(event('response.completed', { response: answer }));
    }
  } else if (path.endsWith('/embeddings')) {
    const data = [{ object: 'embedding', index: 0, embedding: [0.1, 0.2] }];
    response.end(
      JSON.stringify({ object: 'list', data, model: 'seeded-model', usage: { prompt_tokens: 1, total_tokens: 1 } }),
    );
  } else {
    response.statusCode = 404;
    response.end(JSON.stringify({ error: { message: 'the audit has no answer for this', type: 'not_found' } }));
  }
}

function responseObject(text: string): object {
  return {
    id: 'resp_seed',
    object: 'response',
    created_at: 1,
    status: 'completed',
    model: 'seeded-model',
    output: [
      {
        type: 'message',
        id: 'msg_seed',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text, annotations: [] }],
      },
    ],
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  };
}

function parsed(body: Buffer): { [name: string]: unknown } {
  try {
    const value: unknown = JSON.parse(body.toString());
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
