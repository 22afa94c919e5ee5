/** Recorded answers as the bytes of a connection: the client's own parser makes of them what it made of the recorded ones. */
import type { ExchangeRecords } from '@orangebox/codec';
import type { HeaderList } from '@orangebox/schema';
import { isValidField } from '../recorded-message.ts';

const CRLF = Buffer.from('\r\n');
const LAST_CHUNK = Buffer.from('0\r\n\r\n');

/** How the end of a body shows. */
type Framing = 'none' | 'length' | 'chunked' | 'close';

/** The bytes of one answer. */
export class ResponseBytes {
  readonly #exchange: ExchangeRecords;
  readonly #headers: HeaderList;
  readonly #framing: Framing;

  constructor(exchange: ExchangeRecords) {
    this.#exchange = exchange;
    const { headers, framing } = framed(exchange);
    this.#headers = headers;
    this.#framing = framing;
  }

  /** The head, with the answers of status 1xx before it. */
  head(): Buffer {
    const { responseHead } = this.#exchange;
    if (!responseHead) return Buffer.alloc(0);
    const version = responseHead.httpVersion === '1.0' ? '1.0' : '1.1';
    const heads = (responseHead.informational ?? []).map(({ status, headers }) => headText('1.1', status, '', headers));
    heads.push(headText(version, responseHead.status, responseHead.statusText, this.#headers));
    return Buffer.from(heads.join(''), 'latin1');
  }

  chunk(bytes: Uint8Array): Buffer {
    if (this.#framing !== 'chunked') return Buffer.from(bytes);
    if (bytes.length === 0) return Buffer.alloc(0);
    return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, CRLF]);
  }

  end(): Buffer {
    if (this.#framing !== 'chunked') return Buffer.alloc(0);
    const trailers = this.#exchange.end?.trailers ?? [];
    if (trailers.length === 0) return LAST_CHUNK;
    return Buffer.from(`0\r\n${fieldText(trailers)}\r\n`, 'latin1');
  }

  /** The server closes the connection behind this answer. */
  get closes(): boolean {
    if (this.#framing === 'close') return true;
    return this.#headers.some(([name, value]) => name.toLowerCase() === 'connection' && /\bclose\b/i.test(value));
  }
}

function headText(version: string, status: number, text: string, headers: HeaderList): string {
  const reason = /^[\t\x20-\x7e\x80-\xff]*$/.test(text) ? text : '';
  return `HTTP/${version} ${status} ${reason}\r\n${fieldText(headers)}\r\n`;
}

/** A recording is no reason to put a line end into a head. */
function fieldText(headers: HeaderList): string {
  return headers
    .filter(([name, value]) => isValidField(name, value))
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
}

function framed(exchange: ExchangeRecords): { headers: HeaderList; framing: Framing } {
  const { start, responseHead, responseChunks, end } = exchange;
  const headers = responseHead?.headers ?? [];
  const status = responseHead?.status ?? 0;
  if (start.method === 'HEAD' || status === 204 || status === 304) return { headers, framing: 'none' };
  const value = (wanted: string): string | undefined => headers.find(([name]) => name.toLowerCase() === wanted)?.[1];
  const storedBytes = responseChunks.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const isRewritten =
    end?.storedDecoded !== undefined ||
    // Where secrets were replaced, the length is another.
    (end?.ending === 'complete' &&
      value('content-length') !== undefined &&
      Number(value('content-length')) !== storedBytes);
  if (isRewritten) {
    const dropped = end?.storedDecoded ? ['content-encoding', 'content-length'] : ['content-length'];
    const kept = headers.filter(([name]) => ![...dropped, 'transfer-encoding'].includes(name.toLowerCase()));
    return { headers: [...kept, ['transfer-encoding', 'chunked']], framing: 'chunked' };
  }
  if (/\bchunked\b/i.test(value('transfer-encoding') ?? '')) return { headers, framing: 'chunked' };
  if (value('content-length') !== undefined) return { headers, framing: 'length' };
  return { headers, framing: 'close' };
}

/** The error with which a recorded connection broke. */
export function recordedError({ end, responseHead }: ExchangeRecords): Error {
  const { error } = end ?? {};
  const made: Error & Record<string, unknown> = Object.assign(new Error(error?.message ?? 'other side closed'));
  const code = error?.code ?? (responseHead ? 'ECONNRESET' : 'ECONNREFUSED');
  made['code'] = code;
  if (error && error.type !== 'Error') Object.defineProperty(made, 'name', { value: error.type, configurable: true });
  // As the platform says it: `connect ECONNREFUSED 127.0.0.1:80`, `read ECONNRESET`.
  const said = /^(connect|read|write|getaddrinfo) \S+(?: (.+?))?(?::(\d+))?$/.exec(made.message);
  if (said) {
    made['syscall'] = said[1];
    if (said[1] === 'getaddrinfo') made['hostname'] = said[2];
    else if (said[2] !== undefined) {
      made['address'] = said[2];
      made['port'] = Number(said[3]);
    }
    made['errno'] = errnoOf(code);
  }
  return made;
}

function errnoOf(code: string): number | undefined {
  return process.getBuiltinModule('node:os').constants.errno[code as 'ECONNRESET'] === undefined
    ? undefined
    : -process.getBuiltinModule('node:os').constants.errno[code as 'ECONNRESET'];
}
