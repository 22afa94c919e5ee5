/** A proxy on loopback in front of an S3 server that can be told to be a bad one. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the proxy does to requests; `share` (0 to 1) of them where it is given, of the others nothing. */
export type S3Fault =
  | { kind: 'none' }
  /** Answers by itself, as S3 words it. */
  | { kind: 'status'; status: number; code: string; share?: number }
  /** Takes its time before it passes the request on. */
  | { kind: 'slow'; ms: number; share?: number }
  /** Never answers. */
  | { kind: 'hang'; share?: number }
  /** Closes the connection in the middle of the request's body. */
  | { kind: 'cut'; share?: number }
  /** Passes the request on and closes the connection instead of answering: it is done, and nobody knows. */
  | { kind: 'mute'; share?: number };

/** The proxy. */
export interface S3Proxy {
  readonly url: string;
  /** Names the server behind it; requests that came before wait for it. */
  aim(target: string): void;
  fault: S3Fault;
  /** Requests that met a fault. */
  readonly faulty: number;
  close(): Promise<void>;
}

/** Starts a proxy, which may be before the server behind it. */
export async function startS3Proxy(): Promise<S3Proxy> {
  let faulty = 0;
  let aim: (target: string) => void = () => undefined;
  const target = new Promise<string>((resolve) => (aim = resolve));
  const onward = (request: IncomingMessage, response: ServerResponse, mute = false): void =>
    void target.then((url) => pass(request, response, url, mute));
  const server = createServer((request, response) => {
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    const { fault } = proxy;
    if (fault.kind === 'none' || Math.random() >= (fault.share ?? 1)) {
      onward(request, response);
      return;
    }
    faulty += 1;
    switch (fault.kind) {
      case 'status':
        return answer(request, response, fault.status, fault.code);
      case 'slow':
        return void setTimeout(() => onward(request, response), fault.ms);
      case 'hang':
        return void request.resume();
      case 'cut':
        return void request.once('data', () => request.socket.resetAndDestroy());
      case 'mute':
        return onward(request, response, true);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    aim,
    fault: { kind: 'none' } as S3Fault,
    get faulty() {
      return faulty;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return proxy;
}

function pass(request: IncomingMessage, response: ServerResponse, target: string, mute: boolean): void {
  const { hostname, port } = new URL(target);
  const { method, url, headers } = request;
  const onward = httpRequest({ hostname, port, method, path: url, headers }, (answered) => {
    if (mute) {
      answered.resume();
      answered.on('end', () => response.destroy());
      return;
    }
    response.writeHead(answered.statusCode ?? 502, answered.headers);
    answered.on('error', () => response.destroy());
    answered.pipe(response);
  });
  // As it is when there is no proxy: the connection is refused or breaks.
  onward.on('error', () => request.socket.destroy());
  request.pipe(onward);
}

function answer(request: IncomingMessage, response: ServerResponse, status: number, code: string): void {
  request.resume();
  request.once('end', () => {
    response.writeHead(status, { 'content-type': 'application/xml' });
    response.end(
      request.method === 'HEAD'
        ? undefined
        : `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>told to</Message></Error>`,
    );
  });
}
