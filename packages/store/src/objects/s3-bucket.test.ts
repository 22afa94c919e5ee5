/** What the S3 bucket makes of a store's answers, from a server that gives the ones that a real one rarely gives. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { OrangeboxError } from '@orangebox/schema';
import type { ObjectBucket } from './bucket.ts';
import { createS3Bucket } from './s3-bucket.ts';

const SECRETS = { accessKeyId: 'AKIDEXAMPLEID', secretAccessKey: 'verysecretkey', sessionToken: 'sessiontokentext' };

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server;
let endpoint: string;
let handler: Handler;
const warnings: string[] = [];
let requests: { method: string; url: string; headers: IncomingMessage['headers'] }[];
beforeAll(async () => {
  process.on('warning', (warning) => warnings.push(warning.message));
  server = createServer((request, response) => {
    requests.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers });
    request.resume();
    request.on('end', () => handler(request, response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  requests = [];
});

const open = (more: Partial<Parameters<typeof createS3Bucket>[0]> = {}): ObjectBucket =>
  createS3Bucket({ url: 's3://some-bucket/base', endpoint, credentials: SECRETS, maxAttempts: 1, ...more });

function xml(response: ServerResponse, status: number, code: string, message = 'said so'): void {
  response.writeHead(status, { 'content-type': 'application/xml' });
  response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`);
}

/** The error of a failing request. */
async function failure(request: Promise<unknown>): Promise<OrangeboxError> {
  return request.then(
    () => {
      throw new Error('it did not fail');
    },
    (error: unknown) => error as OrangeboxError,
  );
}

describe('an S3 bucket', () => {
  it.each([
    [403, 'AccessDenied', 'OBX_STORE_DENIED'],
    [403, 'SignatureDoesNotMatch', 'OBX_STORE_DENIED'],
    [401, 'Unauthorized', 'OBX_STORE_DENIED'],
    [404, 'NoSuchBucket', 'OBX_STORE_NOT_FOUND'],
    [500, 'InternalError', 'OBX_STORE_UNREACHABLE'],
    [503, 'SlowDown', 'OBX_STORE_UNREACHABLE'],
    [429, 'TooManyRequests', 'OBX_STORE_UNREACHABLE'],
    [507, 'InsufficientStorage', 'OBX_STORE_FULL'],
    [400, 'InvalidDigest', 'OBX_STORE_FAILED'],
    [301, 'PermanentRedirect', 'OBX_STORE_FAILED'],
  ])('tells what an answer %d %s means, without credentials', async (status, name, code) => {
    handler = (_request, response) =>
      xml(response, status, name, `key AKIDEXAMPLEID, token sessiontokentext, http://me:pw@host/`);
    const bucket = open();
    for (const send of [
      () => bucket.write('a', Buffer.from('x')),
      () => bucket.write('a', Buffer.from('x'), { onlyIfAbsent: true }),
      () => bucket.read('a', 10),
      () => bucket.list('')[Symbol.asyncIterator]().next(),
      () => bucket.prefixes(''),
      () => bucket.check(),
    ]) {
      const error = await failure(send());
      expect(error).toMatchObject({ code, message: expect.stringContaining(`${status} ${name}`) });
      expect(error.hint).not.toBe(undefined);
      expect(inspect(error, { depth: 9 })).not.toMatch(/AKIDEXAMPLEID|verysecretkey|sessiontokentext|me:pw/);
    }
    await bucket.close();
  });

  it('names the bucket in the path and the base prefix before every name', async () => {
    handler = (_request, response) => response.end('content');
    const bucket = open();
    expect(await bucket.read('v1/x', 100)).toEqual(Buffer.from('content'));
    expect(requests[0]?.url).toMatch(/^\/some-bucket\/base\/v1\/x/);
    expect(bucket.location).toBe('s3://some-bucket/base');
    await bucket.close();
  });

  it('says that nobody answers', async () => {
    const dead = createS3Bucket({
      url: 's3://some-bucket',
      endpoint: 'http://127.0.0.1:9',
      credentials: SECRETS,
      maxAttempts: 1,
    });
    const error = await failure(dead.read('a', 10));
    expect(error).toMatchObject({ code: 'OBX_STORE_UNREACHABLE', message: expect.stringContaining('ECONNREFUSED') });
    await dead.close();
  });

  it('gives a store up that keeps silent', async () => {
    handler = () => {};
    const bucket = open({ timeoutMs: 200 });
    expect(await failure(bucket.read('a', 10))).toMatchObject({ code: 'OBX_STORE_UNREACHABLE' });
    await bucket.close();
    server.closeAllConnections();
  });

  it('tries again when the store fails in passing, a bounded number of times', async () => {
    let left = 2;
    handler = (_request, response) => (left-- > 0 ? xml(response, 503, 'SlowDown') : response.end('content'));
    const bucket = open({ maxAttempts: 3 });
    expect(await bucket.read('a', 100)).toEqual(Buffer.from('content'));
    left = Number.POSITIVE_INFINITY;
    requests = [];
    await failure(bucket.read('a', 100));
    expect(requests).toHaveLength(3);
    await bucket.close();
  });

  it('reads again when a body breaks off', async () => {
    let left = 1;
    handler = (_request, response) => {
      response.writeHead(200, { 'content-length': 7 });
      if (left-- > 0) response.write('con', () => response.destroy());
      else response.end('content');
    };
    const bucket = open();
    expect(await bucket.read('a', 100)).toEqual(Buffer.from('content'));
    expect(requests).toHaveLength(2);
    left = Number.POSITIVE_INFINITY;
    expect(await failure(bucket.read('a', 100))).toMatchObject({ code: 'OBX_STORE_UNREACHABLE' });
    await bucket.close();
  });

  it('takes no more than asked for, whatever the store says of the length', async () => {
    const bucket = open();
    handler = (_request, response) => response.writeHead(200, { 'content-length': 5e9 }).write('x');
    expect(await failure(bucket.read('a', 100))).toMatchObject({ code: 'OBX_SNAPSHOT_TOO_LARGE' });
    let sent = 0;
    handler = (_request, response) => {
      response.writeHead(200);
      const more = (): void => {
        while (!response.destroyed && sent < 500e6 && response.write(Buffer.alloc(65_536))) sent += 65_536;
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    };
    expect(await failure(bucket.read('a', 1_000_000))).toMatchObject({ code: 'OBX_SNAPSHOT_TOO_LARGE' });
    expect(sent).toBeLessThan(50e6);
    await bucket.close();
  });

  it('takes 412 for "there already"', async () => {
    handler = (_request, response) => xml(response, 412, 'PreconditionFailed');
    const bucket = open();
    expect(await bucket.write('a', Buffer.from('x'), { onlyIfAbsent: true })).toBe('exists');
    expect(requests[0]?.headers['if-none-match']).toBe('*');
    await bucket.close();
  });

  it('believes a conflict only when the object is there, and else writes again', async () => {
    let isThere = false;
    let puts = 0;
    handler = (request, response) => {
      if (request.method === 'HEAD') response.writeHead(isThere ? 200 : 404).end();
      else if (puts++ === 0) xml(response, 409, 'ConditionalRequestConflict');
      else response.end();
    };
    const bucket = open();
    expect(await bucket.write('a', Buffer.from('x'), { onlyIfAbsent: true })).toBe('written');
    [isThere, puts] = [true, 0];
    expect(await bucket.write('a', Buffer.from('x'), { onlyIfAbsent: true })).toBe('exists');
    await bucket.close();
  });

  it.each([
    [501, 'NotImplemented'],
    [400, 'NotImplemented'],
    [400, 'InvalidArgument'],
  ])('looks before it writes where a store answers %d %s to a condition', async (status, name) => {
    let isThere = false;
    handler = (request, response) => {
      if (request.headers['if-none-match'] !== undefined) xml(response, status, name);
      else if (request.method === 'HEAD') response.writeHead(isThere ? 200 : 404).end();
      else response.end();
    };
    const bucket = open();
    expect(await bucket.write('a', Buffer.from('x'), { onlyIfAbsent: true })).toBe('written');
    isThere = true;
    expect(await bucket.write('a', Buffer.from('x'), { onlyIfAbsent: true })).toBe('exists');
    // The condition is not tried a second time.
    expect(requests.map(({ method }) => method)).toEqual(['PUT', 'HEAD', 'PUT', 'HEAD']);
    await bucket.close();
  });

  it('deletes one by one where a store takes no lists, and tells what it may not delete', async () => {
    handler = (request, response) => {
      if (request.method === 'POST') xml(response, 501, 'NotImplemented');
      else response.writeHead(204).end();
    };
    const bucket = open();
    await bucket.delete(['a', 'b']);
    expect(requests.map(({ method }) => method)).toEqual(['POST', 'DELETE', 'DELETE']);
    await bucket.close();
    handler = (_request, response) =>
      response.end(
        '<DeleteResult><Error><Key>base/a</Key><Code>AccessDenied</Code><Message>no</Message></Error></DeleteResult>',
      );
    const other = open();
    expect(await failure(other.delete(['a']))).toMatchObject({ code: 'OBX_STORE_DENIED' });
    await other.close();
  });

  it('ends a listing that a broken store would make endless', async () => {
    handler = (_request, response) =>
      response.end(
        '<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken><Contents><Key>base/a</Key><Size>1</Size></Contents><Contents><Key>other/b</Key></Contents></ListBucketResult>',
      );
    const bucket = open();
    const names: string[] = [];
    for await (const { name } of bucket.list('')) names.push(name);
    expect(names).toEqual(['a', 'a']);
    await bucket.close();
  });

  it('takes the first bytes also of a store that gives the whole object, and of it no more than it needs', async () => {
    const body = Buffer.from('0123456789'.repeat(1000));
    handler = (_request, response) => response.end(body);
    const bucket = open();
    expect(Buffer.from((await bucket.readStart?.('a', 15)) ?? []).toString()).toBe('012345678901234');
    expect(await bucket.readStart?.('a', 20_000)).toHaveLength(body.length);
    // Without an end, and of no length that is said.
    handler = (_request, response) => void response.write(body);
    expect(await bucket.readStart?.('a', 15)).toHaveLength(15);
    expect(requests.map(({ headers }) => headers.range)).toEqual(['bytes=0-14', 'bytes=0-19999', 'bytes=0-14']);
    expect(await failure(bucket.read('a', 15))).toMatchObject({ code: 'OBX_SNAPSHOT_TOO_LARGE' });
    await bucket.close();
  });

  it('adds checksums to uploads by default, and none where they are only to be sent when demanded', async () => {
    handler = (_request, response) => response.end();
    for (const checksum of ['default', 'when_required'] as const) {
      const bucket = open({ checksum });
      await bucket.write('a', Buffer.from('x'));
      await bucket.close();
    }
    const sums = requests.map(({ headers }) => headers['x-amz-checksum-crc32'] !== undefined);
    expect(sums).toEqual([true, false]);
  });

  it('lets no warning of the SDK about the version of Node through', async () => {
    // It warns once per process, at the first client, so all tests of this file are watched.
    await new Promise((resolve) => setImmediate(resolve));
    expect(warnings).toEqual([]);
  });
});
