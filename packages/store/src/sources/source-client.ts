/** Asking a query API over HTTP: bounded in time and bytes, headers to its own origin only, failures as coded errors. */
import { OrangeboxError } from '@orangebox/schema';
import type { TimeBudget } from './time-budget.ts';
import type { SourceOptions } from './trace-source.ts';

/** What came back. */
export interface SourceAnswer {
  status: number;
  text: string;
  /** The parsed JSON; undefined when the text is none. */
  json: unknown;
}

/** Asks one API. */
export interface SourceClient {
  /** Base URL without credentials, for messages. */
  readonly location: string;
  /**
   * GET of a path below the base. Answers of any status come back but 401, 403, 429 and 5xx. It takes no longer than what
   * is left of `budget`.
   *
   * @throws OrangeboxError `OBX_SOURCE_UNREACHABLE`, `OBX_SOURCE_DENIED`, `OBX_SOURCE_ANSWER`.
   */
  get(path: string, parameters?: Readonly<Record<string, string>>, budget?: TimeBudget): Promise<SourceAnswer>;
}

const TIMEOUT_MS = 30_000;
const MAX_BYTES = 256 * 1024 * 1024;
const REDIRECTS_MAX = 5;
/** The answer was cut at this program's own limit; a smaller window may fit. */
const TOO_LARGE = Symbol('too large');

/** Makes a client of a base URL. @throws OrangeboxError `OBX_SOURCE_URL`. */
export function createSourceClient(options: SourceOptions): SourceClient {
  const { base, authorization } = parseBase(options.url);
  const location = base.href.replace(/\/$/, '');
  const headers = new Headers({ accept: 'application/json' });
  if (authorization !== undefined) headers.set('authorization', authorization);
  try {
    for (const [name, value] of Object.entries(options.headers ?? {})) headers.set(name, value);
  } catch (cause) {
    // The platform's message would repeat the value, which may be a token: it is not kept as the cause.
    void cause;
    throw new OrangeboxError('OBX_SOURCE_URL', 'a header for the trace backend is not valid', {
      hint: 'write headers as Name=value, without line breaks',
    });
  }
  const request = options.fetch ?? fetch;
  return {
    location,
    async get(path, parameters = {}, budget) {
      const url = new URL(location + path);
      for (const [name, value] of Object.entries(parameters)) url.searchParams.append(name, value);
      const ownMs = options.timeoutMs ?? TIMEOUT_MS;
      const timeoutMs = Math.ceil(Math.min(ownMs, budget?.leftMs() ?? ownMs));
      const signal = AbortSignal.timeout(timeoutMs);
      try {
        const response = await follow(request, url, { headers, signal }, location);
        const text = await readText(response, options.maxBytes ?? MAX_BYTES, location);
        refuseFailures(response.status, text, location);
        return { status: response.status, text, json: parseJson(text) };
      } catch (error) {
        throw asSourceError(error, location, timeoutMs);
      }
    },
  };
}

/** Whether an error says that an answer was larger than this program reads. */
export function isTooLarge(error: unknown): boolean {
  return error instanceof OrangeboxError && error.cause === TOO_LARGE;
}

/** `OBX_SOURCE_ANSWER`: the backend said something that this program does not understand. */
export function answerError(location: string, what: string, text?: string): OrangeboxError {
  return new OrangeboxError(
    'OBX_SOURCE_ANSWER',
    `${location} ${what}${text === undefined || text === '' ? '' : `: ${shortText(text)}`}`,
    { hint: 'check that the source is the base URL of a Jaeger or Tempo query API' },
  );
}

/** A text of somebody else for a message: one line, no control characters, not at any length. */
export function shortText(text: string): string {
  const clean = text
    .slice(0, 1000)
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]+/gu, ' ')
    .trim();
  return JSON.stringify(clean.length > 200 ? `${clean.slice(0, 199)}…` : clean);
}

function parseBase(text: string): { base: URL; authorization: string | undefined } {
  let base: URL;
  try {
    base = new URL(text.trim());
  } catch {
    throw badUrl('the address of the trace backend is not a URL');
  }
  if (base.protocol !== 'http:' && base.protocol !== 'https:') {
    throw badUrl('the address of the trace backend does not begin with http:// or https://');
  }
  let authorization: string | undefined;
  if (base.username !== '' || base.password !== '') {
    authorization = `Basic ${Buffer.from(`${decoded(base.username)}:${decoded(base.password)}`).toString('base64')}`;
    base.username = '';
    base.password = '';
  }
  base.search = '';
  base.hash = '';
  base.pathname = base.pathname.replace(/\/+$/, '');
  return { base, authorization };
}

/** The text itself is not shown: it may hold a password. */
function badUrl(message: string): OrangeboxError {
  return new OrangeboxError('OBX_SOURCE_URL', message, {
    hint: 'for example http://localhost:16686 (Jaeger) or http://localhost:3200 (Tempo)',
  });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Follows redirects within the origin. Another origin gets neither the headers nor the question. */
async function follow(
  request: typeof fetch,
  from: URL,
  init: { headers: Headers; signal: AbortSignal },
  location: string,
): Promise<Response> {
  let url = from;
  for (let hops = 0; hops <= REDIRECTS_MAX; hops += 1) {
    const response = await request(url, { ...init, redirect: 'manual' });
    const to = response.headers.get('location');
    if (to === null || ![301, 302, 303, 307, 308].includes(response.status)) return response;
    await response.body?.cancel();
    const next = targetOf(to, url);
    if (next?.origin !== url.origin) {
      throw new OrangeboxError(
        'OBX_SOURCE_ANSWER',
        `${location} sends elsewhere${next ? `: ${shortText(next.origin)}` : ''}; that is not followed`,
        { hint: 'a login page? give credentials by headers, or name the address it sends to as the source' },
      );
    }
    url = next;
  }
  throw answerError(location, 'redirects in a circle');
}

function targetOf(text: string, base: URL): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}

async function readText(response: Response, maxBytes: number, location: string): Promise<string> {
  if (!response.body) return '';
  const parts: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const part of response.body as AsyncIterable<Uint8Array>) {
    sizeBytes += part.length;
    // Leaving the loop cancels the body: an endless one ends here.
    if (sizeBytes > maxBytes) {
      throw new OrangeboxError('OBX_SOURCE_ANSWER', `${location} answers with more than ${maxBytes} bytes`, {
        hint: 'ask for a shorter time, or for one trace',
        cause: TOO_LARGE,
      });
    }
    parts.push(part);
  }
  return Buffer.concat(parts, sizeBytes).toString('utf8');
}

function refuseFailures(status: number, text: string, location: string): void {
  if (status === 401 || status === 403) {
    throw new OrangeboxError('OBX_SOURCE_DENIED', `${location} refuses access (${status})`, {
      hint: 'give its credentials as headers (ORANGEBOX_SOURCE_HEADERS=Authorization=Bearer …)',
    });
  }
  // Jaeger's answer to a question that it cannot read may be 500: it is told with its text.
  if (status === 429 || status >= 500) {
    throw new OrangeboxError(
      'OBX_SOURCE_UNREACHABLE',
      `${location} answers ${status}${text === '' ? '' : `: ${shortText(text)}`}`,
      { hint: status === 429 ? 'it is asked too often: try later' : 'look into its log' },
    );
  }
}

/** JSON, also several documents one per line, as a streamed answer of API v3 has them: then the list of them. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const lines = text.split('\n').filter((line) => line.trim() !== '');
    if (lines.length < 2 || !text.startsWith('{')) return undefined;
    try {
      return lines.map((line): unknown => JSON.parse(line));
    } catch {
      return undefined;
    }
  }
}

function asSourceError(error: unknown, location: string, timeoutMs: number): OrangeboxError {
  if (error instanceof OrangeboxError) return error;
  const name = error instanceof Error ? error.name : '';
  const slow = name === 'TimeoutError' || name === 'AbortError';
  return new OrangeboxError(
    'OBX_SOURCE_UNREACHABLE',
    slow
      ? `${location} gave no whole answer within ${timeoutMs} ms`
      : `${location} cannot be reached: ${reason(error)}`,
    { cause: error, hint: 'check the address, and that the query API listens there' },
  );
}

/** The platform's fetch says `fetch failed`; why stands in its cause. */
function reason(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof Error) {
    const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined;
    return code ?? shortText(cause.message);
  }
  return error instanceof Error ? shortText(error.message) : 'unknown reason';
}
