import type { ExchangeRecords } from '@orangebox/codec';
import type { HeaderList } from '@orangebox/schema';
import { describe, expect, it } from 'vitest';
import { recordedError, ResponseBytes } from './response-bytes.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text);

function exchange(headers: HeaderList, chunks: string[] = [], change: object = {}): ExchangeRecords {
  return {
    start: { method: 'POST', url: 'http://host.example/' },
    requestChunks: [],
    responseHead: { status: 200, statusText: 'OK', headers },
    responseChunks: chunks.map((chunk) => ({ bytes: bytes(chunk) })),
    end: { ending: 'complete', ...change },
  } as unknown as ExchangeRecords;
}

function wire(records: ExchangeRecords): string {
  const response = new ResponseBytes(records);
  const parts = [
    response.head(),
    ...records.responseChunks.map((chunk) => response.chunk(chunk.bytes)),
    response.end(),
  ];
  return Buffer.concat(parts).toString('latin1');
}

describe('an answer as bytes', () => {
  it('has the framing that it had', () => {
    expect(wire(exchange([['Content-Length', '4']], ['ab', 'cd']))).toBe(
      'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd',
    );
    expect(wire(exchange([['transfer-encoding', 'chunked']], ['ab', 'c']))).toBe(
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n',
    );
    const closed = exchange([['x-a', '1']], ['ab']);
    expect(wire(closed)).toBe('HTTP/1.1 200 OK\r\nx-a: 1\r\n\r\nab');
    expect(new ResponseBytes(closed).closes).toBe(true);
  });

  it('whose body is stored decoded, or with tokens for secrets, is framed anew', () => {
    const headers: HeaderList = [
      ['content-encoding', 'gzip'],
      ['content-length', '99'],
      ['x-a', '1'],
    ];
    const decoded = exchange(headers, ['abc'], { storedDecoded: { contentEncoding: 'gzip', wireSizeBytes: 99 } });
    expect(wire(decoded)).toBe('HTTP/1.1 200 OK\r\nx-a: 1\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n');
    expect(wire(exchange([['content-length', '99']], ['{{secret:a}}']))).toContain('chunked\r\n\r\nc\r\n{{secret:a}}');
    // One that was cut keeps its length: the client has to miss the rest.
    expect(wire(exchange([['content-length', '99']], ['abc'], { ending: 'cut' }))).toContain(
      'content-length: 99\r\n\r\nabc',
    );
  });

  it('of a hostile recording has no head that it does not name', () => {
    const hostile = exchange([
      ['x-a', 'one\r\nset-cookie: planted'],
      ['x b', 'two'],
      ['x-c', 'three'],
    ]);
    Object.assign(hostile.responseHead ?? {}, { statusText: 'OK\r\nx-planted: 1' });
    expect(wire(hostile)).toBe('HTTP/1.1 200 \r\nx-c: three\r\n\r\n');
  });
});

describe('a recorded failure', () => {
  it('has the members of the platform’s', () => {
    const error = {
      type: 'Error',
      code: 'ECONNREFUSED',
      message: 'connect ECONNREFUSED 127.0.0.1:80',
      stage: 'connect',
    };
    expect(recordedError(exchange([], [], { ending: 'connect_failed', error }))).toMatchObject({
      code: 'ECONNREFUSED',
      syscall: 'connect',
      address: '127.0.0.1',
      port: 80,
      errno: -111,
    });
  });
});
