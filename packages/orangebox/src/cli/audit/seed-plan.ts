/** The seeded calls: each puts a mark into one place that Orangebox sees, and some a control beside it. */
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import type { SeedCall, SeedPlan, SeedTool } from '../../audit-probe/plan.ts';
import type { Marks } from './marks.ts';
import type { PlannedAnswer } from './provider.ts';

/** What the seeds do and what they are answered. */
export interface Seeds extends SeedPlan {
  answers: Map<number, PlannedAnswer>;
  /** Planted into the environment of every process. */
  environment: { [name: string]: string };
}

const CREDENTIAL_HEADERS = [
  'authorization',
  'proxy-authorization',
  'cookie',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'x-auth-token',
  'x-amz-security-token',
  'x-acme-secret',
];
const ANSWER_HEADERS = ['set-cookie', 'x-auth-token', 'authorization', 'x-refresh-token'];
const PARAMETERS = ['key', 'api_key', 'access_token', 'token', 'sig', 'client_secret', 'X-Amz-Signature'];
const FIELDS = ['authorization', 'api_key', 'apiKey', 'access_token', 'refresh_token', 'client_secret', 'password'];
/** Names of several habits; none that a library reads. */
const VARIABLES = [
  'PLANTED_API_KEY',
  'PLANTED_DB_PASSWORD',
  'PLANTED_SERVICE_TOKEN',
  'PLANTED_CLIENT_SECRET',
  'planted_credentials',
  'PLANTED_PRIVATE_KEY',
];
const JSON_TYPE: [string, string] = ['content-type', 'application/json'];

/** Makes the seeds for a provider at `origin`; nobody listens at `closedOrigin`. */
export function planSeeds(marks: Marks, origin: string, closedOrigin: string): Seeds {
  const builder = new SeedBuilder(marks, origin);
  builder.requestHeaders();
  builder.answerHeaders();
  builder.addresses();
  builder.bodyFields();
  builder.environmentInBodies();
  builder.errors(closedOrigin);
  builder.sessions();
  return builder;
}

class SeedBuilder implements Seeds {
  readonly calls: SeedCall[] = [];
  readonly tools: SeedTool[] = [];
  readonly answers: Map<number, PlannedAnswer> = new Map();
  readonly environment: { [name: string]: string } = {};
  readonly #marks: Marks;
  readonly #url: string;
  readonly #variables: string[];
  #turn = 0;

  constructor(marks: Marks, origin: string) {
    this.#marks = marks;
    this.#url = `${origin}/v1/chat/completions`;
    for (const name of VARIABLES) this.environment[name] = marks.secret(`environment variable ${name}`);
    this.#variables = Object.values(this.environment);
  }

  requestHeaders(): void {
    for (const via of ['fetch', 'http'] as const) {
      for (const name of CREDENTIAL_HEADERS) {
        const secret = this.#marks.secret(`request header ${name} (${via})`, 'plain');
        const value = name.endsWith('authorization')
          ? `Bearer ${secret}`
          : name === 'cookie'
            ? `sid=${secret}`
            : secret;
        const control = this.#marks.control(`request header x-control (${via})`);
        // An answer that quotes the credential back: it is known from the request by then.
        this.#call(
          {
            via,
            alone: true,
            headers: [
              [name, value],
              ['x-control', control],
            ],
          },
          { text: chat(`you sent ${secret}`) },
        );
      }
    }
  }

  answerHeaders(): void {
    for (const via of ['fetch', 'http'] as const) {
      for (const name of ANSWER_HEADERS) {
        const secret = this.#marks.secret(`answer header ${name} (${via})`, 'plain');
        const value = name === 'set-cookie' ? `sid=${secret}; Path=/; HttpOnly` : secret;
        const control = this.#marks.control(`answer header x-control (${via})`);
        this.#call(
          { via },
          {
            headers: [
              [name, value],
              ['x-control', control],
            ],
          },
        );
      }
    }
  }

  addresses(): void {
    for (const via of ['fetch', 'http'] as const) {
      for (const name of PARAMETERS) {
        const secret = encodeURIComponent(this.#marks.secret(`URL parameter ${name} (${via})`, 'url'));
        const control = this.#marks.control(`URL parameter page (${via})`);
        this.#call({ via, url: `${this.#url}?page=${control}&${name}=${secret}&x=1` });
      }
    }
    this.#call({ via: 'http', auth: `user:${this.#marks.secret('user info of a URL', 'plain')}` });
    const location = `${this.#url}?token=${this.#marks.secret('URL in an answer header (Location)', 'plain')}`;
    this.#call({ via: 'http' }, { status: 201, headers: [['location', location]] });
  }

  bodyFields(): void {
    for (const depth of [0, 1, 2]) {
      for (const field of FIELDS) {
        const secret = this.#marks.secret(`request body field ${field}, ${depth} deep`);
        this.#call({ body: chatRequest('hi', { extra: nest(field, secret, depth) }) });
      }
    }
    for (const field of ['api_key', 'access_token', 'password']) {
      for (const way of ['whole', 'bytes', 'gzip', 'br'] as const) {
        const secret = this.#marks.secret(`answer body field ${field} (${way})`);
        this.#call({}, packed(chat('ok', { [field]: secret }), way));
      }
    }
    const token = this.#marks.secret('MCP authorization');
    const header = this.#marks.secret('MCP header');
    const mcp = { type: 'mcp', server_label: 'crm', server_url: 'https://crm.invalid/mcp' };
    const tools = [{ ...mcp, authorization: token, headers: { 'X-Crm': header } }];
    this.#call({
      url: this.#url.replace('chat/completions', 'responses'),
      body: json({ model: 'm', input: 'hi', tools }),
    });
    for (const field of ['api_key', 'password', 'client_secret']) {
      const form = new URLSearchParams({ model: 'm', [field]: this.#marks.secret(`form field ${field}`) });
      this.#call({ headers: [['content-type', 'application/x-www-form-urlencoded']], body: form.toString() });
    }
    const part = this.#marks.secret('multipart field api_key', 'plain');
    const body = `--b\r\ncontent-disposition: form-data; name="api_key"\r\n\r\n${part}\r\n--b--\r\n`;
    this.#call({
      url: this.#url.replace('chat/completions', 'audio/transcriptions'),
      headers: [['content-type', 'multipart/form-data; boundary=b']],
      body,
    });
  }

  /** The environment's values in prompts and answers, each way that bytes come. */
  environmentInBodies(): void {
    for (const inPieces of [false, true]) {
      const control = this.#marks.control(`prompt (${inPieces ? 'byte by byte' : 'whole'})`);
      for (let i = 0; i < 3; i += 1) {
        this.#call({ body: chatRequest(`${control} my key is ${this.#variable()}`), inPieces });
        this.#call({ body: chatRequest(`${control} its base64 is ${base64(this.#variable())}`), inPieces });
      }
    }
    for (const way of ['whole', 'bytes', 'gzip', 'br', 'deflate', 'sse', 'sse-bytes', 'sse-gzip'] as const) {
      const control = this.#marks.control(`answer (${way})`);
      for (const form of [String, encodeURIComponent, base64]) {
        const text = `${control} ${form(this.#variable())}`;
        this.#call({}, packed(way.startsWith('sse') ? events(text) : chat(text), way));
      }
    }
  }

  errors(closedOrigin: string): void {
    const control = this.#marks.control('error answer');
    this.#call({}, { status: 400, text: json({ error: { message: `${control} ${this.#variable()} is not valid` } }) });
    this.#call({}, { status: 401, reason: `No ${this.#variable('plain')}`, text: '{}' });
    this.#call({ via: 'http' }, { text: chat(`cut ${this.#variable()} here and more`), cut: true });
    this.#call({}, { text: chat(`cut ${this.#variable()} here and more`), cut: true });
    for (const via of ['fetch', 'http'] as const) {
      const secret = this.#marks.secret(`URL that nobody answers (${via})`, 'plain');
      this.#call({ via, url: `${closedOrigin}/v1/chat/completions?api_key=${secret}` });
    }
  }

  sessions(): void {
    const id = this.#marks.control('session id');
    const metadata = { plan: this.#marks.control('session metadata'), note: `with ${this.#variable()}` };
    this.#call({ session: { id, userId: this.#marks.control('user id'), metadata } });
    const result = this.#marks.control('tool result');
    const argument = this.#marks.control('tool arguments');
    this.tools.push({ name: 'seeded', arguments: { city: argument, key: this.#variable() }, result: `${result}` });
    this.tools.push({ name: 'seeded', arguments: { city: 'x' }, result: `a result with ${this.#variable()}` });
    this.tools.push({ name: 'seeded', arguments: {}, result: '', error: `a tool failed with ${this.#variable()}` });
  }

  #variable(spelling?: 'plain'): string {
    this.#turn += 1;
    const list = spelling === 'plain' ? this.#variables.filter((value) => /^\w+$/.test(value)) : this.#variables;
    return list[this.#turn % list.length] ?? '';
  }

  #call(call: Partial<Omit<SeedCall, 'n'>>, answer: PlannedAnswer = {}): void {
    const n = this.calls.length;
    const { body, headers = [], ...rest } = call;
    this.answers.set(n, answer);
    this.calls.push({
      n,
      via: 'fetch',
      method: 'POST',
      url: this.#url,
      ...rest,
      headers: [
        ...(headers.some(([name]) => name === 'content-type') ? [] : [JSON_TYPE]),
        ['x-seed', String(n)],
        ...headers,
      ],
      body: base64(body ?? chatRequest('hi')),
    });
  }
}

const json = JSON.stringify;
const base64 = (text: string): string => Buffer.from(text).toString('base64');

function chatRequest(content: string, more: object = {}): string {
  return json({ model: 'seeded-model', messages: [{ role: 'user', content }], ...more });
}

/** A chat answer. */
export function chat(content: string, more: object = {}): string {
  const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }];
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  return json({
    id: 'chatcmpl-seed',
    object: 'chat.completion',
    created: 1,
    model: 'seeded-model',
    choices,
    usage,
    ...more,
  });
}

/** The same as a stream. */
export function events(content: string): string {
  const chunk = (delta: object, finish: string | null): string =>
    `data: ${json({ id: 'chatcmpl-seed', object: 'chat.completion.chunk', created: 1, model: 'seeded-model', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  return `${chunk({ role: 'assistant', content: '' }, null)}${chunk({ content }, null)}${chunk({}, 'stop')}data: [DONE]\n\n`;
}

function nest(field: string, value: string, depth: number): object {
  let inner: object = { [field]: value };
  for (let i = 0; i < depth; i += 1) inner = { wrapped: json(inner) };
  return inner;
}

function packed(text: string, way: string): PlannedAnswer {
  const isStream = way.startsWith('sse');
  const coding = way.replace('sse-', '');
  const pack = { gzip: gzipSync, br: brotliCompressSync, deflate: deflateSync }[coding];
  return {
    headers: [
      ['content-type', isStream ? 'text/event-stream' : 'application/json'],
      ...(pack ? [['content-encoding', coding] as [string, string]] : []),
    ],
    bytes: pack ? pack(text) : Buffer.from(text),
    inPieces: way.endsWith('bytes'),
  };
}
