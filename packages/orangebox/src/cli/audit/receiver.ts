/** Takes everything that is sent over OTLP during an audit, and keeps it. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { readTraceRequest } from '@orangebox/store';
import { bodyOf } from './provider.ts';

/** A request as it came. */
export interface Received {
  path: string;
  headers: [string, string][];
  /** Content encoding undone. */
  body: Buffer;
}

/** A running receiver. */
export interface Receiver {
  url: string;
  port: number;
  requests: Received[];
  /** Bytes of bodies that were not kept: over the bound. */
  droppedBytes(): number;
  close(): Promise<void>;
}

const KEPT_MAX_BYTES = 512 * 1024 * 1024;
const LIMITS = { fields: 5_000_000, events: 10_000 };

/** Starts it on loopback; every request is answered 200. */
export async function startReceiver(): Promise<Receiver> {
  const requests: Received[] = [];
  let kept = 0;
  let dropped = 0;
  const server = createServer((request, response) => {
    request.on('error', () => undefined);
    void bodyOf(request)
      .then((raw) => {
        const body =
          request.headers['content-encoding'] === 'gzip' ? gunzipSync(raw, { maxOutputLength: KEPT_MAX_BYTES }) : raw;
        if (kept + body.length > KEPT_MAX_BYTES) dropped += body.length;
        else {
          kept += body.length;
          const { rawHeaders } = request;
          const headers = rawHeaders.flatMap((name, i): [string, string][] =>
            i % 2 === 0 ? [[name, rawHeaders[i + 1] ?? '']] : [],
          );
          requests.push({ path: request.url ?? '', headers, body });
        }
        const isJson = request.headers['content-type']?.includes('json') === true;
        response.writeHead(200, { 'content-type': isJson ? 'application/json' : 'application/x-protobuf' });
        response.end(isJson ? '{}' : '');
      })
      .catch(() => request.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    droppedBytes: () => dropped,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** The payloads among the requests, their parts joined, still gzipped; what has one part or none joins to itself. */
export function joinedPayloads(requests: readonly Received[]): { key: string; gzip: Buffer }[] {
  const parts = new Map<string, { key: string; bytes: Map<number, Uint8Array> }>();
  for (const { path, headers, body } of requests) {
    const type = headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? '';
    if (!path.endsWith('/v1/traces') || type.includes('json')) continue;
    try {
      for (const { key = '', body: part, payloadSha256 = '', part: place } of readTraceRequest(body, LIMITS).events) {
        if (part === undefined) continue;
        const name = `${key} ${payloadSha256}`;
        const known = parts.get(name) ?? { key, bytes: new Map<number, Uint8Array>() };
        known.bytes.set(place?.index ?? 0, part);
        parts.set(name, known);
      }
    } catch {
      // Not a trace request; its bytes are looked at all the same.
    }
  }
  return [...parts.values()].map(({ key, bytes }) => ({
    key,
    gzip: Buffer.concat([...bytes].sort(([a], [b]) => a - b).map(([, part]) => part)),
  }));
}
