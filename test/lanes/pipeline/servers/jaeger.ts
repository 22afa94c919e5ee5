/** Jaeger with its query API. */
import { fileURLToPath } from 'node:url';
import { binaryOf } from './binary.ts';
import { withExtras } from './extras.ts';
import { freePorts } from './ports.ts';
import { type RunningServer, serverDirectory, startServer } from './process.ts';

/** Jaeger: `url` is the query API. */
export interface JaegerServer extends RunningServer {
  /** Base URL for OTLP/HTTP. */
  readonly otlpUrl: string;
}

/** Starts Jaeger; it keeps traces in memory, so a restart forgets them. */
export async function startJaeger(): Promise<JaegerServer> {
  const [query, queryGrpc, health, otlp] = await freePorts(4);
  const server = await startServer({
    name: 'jaeger',
    directory: serverDirectory('jaeger'),
    command: binaryOf('jaeger'),
    args: ['--config', fileURLToPath(new URL('jaeger.yaml', import.meta.url))],
    env: {
      QUERY_PORT: String(query),
      QUERY_GRPC_PORT: String(queryGrpc),
      HEALTH_PORT: String(health),
      OTLP_PORT: String(otlp),
    },
    url: `http://127.0.0.1:${query}`,
    readyUrl: `http://127.0.0.1:${health}/status`,
    // It has nothing to save, and waits for connections that clients keep open.
    stopSignal: 'SIGKILL',
  });
  return withExtras(server, { otlpUrl: `http://127.0.0.1:${otlp}` });
}
