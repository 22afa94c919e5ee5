/** A preload with the real taps and a sink that writes what it got to a file of its own at exit. Bundled by `harness.ts`. */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installInstrumentation } from '../../packages/instrument/src/index.ts';
import { createMemorySink } from '../../packages/instrument/src/memory-sink.ts';

const sink = createMemorySink();
const name = `${randomUUID()}.json`;

function writeDown(): void {
  const directory = process.env['TEST_SINK_DIRECTORY'];
  if (directory === undefined) return;
  const kept = sink.exchanges.map((exchange) => ({
    url: exchange.start.url,
    kind: exchange.start.kind,
    client: exchange.start.client,
    requestHeaders: exchange.requestHeaders,
    requestBody: exchange.requestBody.toString(),
    requestEnded: exchange.requestEnded,
    requestTrailers: exchange.requestTrailers,
    informational: exchange.informational.map(({ status }) => status),
    status: exchange.head?.status,
    statusText: exchange.head?.statusText,
    responseHeaders: exchange.head?.headers,
    responseTrailers: exchange.ends[0]?.trailers,
    responseBase64: exchange.responseBody.toString('base64', 0, 10_000),
    responseBody: exchange.responseBody.toString('utf8').slice(0, 2000),
    responseBytes: exchange.responseBody.length,
    flushes: sink.flushes,
    deliveries: exchange.deliveries,
    times: exchange.times,
    place: exchange.start.context.scope.map(({ kind, name }) => `${kind}:${name}`),
    ends: exchange.ends.map(({ ending, stage, error }) => ({
      ending,
      stage,
      error: error instanceof Error ? error.name : typeof error,
    })),
  }));
  writeFileSync(join(directory, name), JSON.stringify(kept));
}

installInstrumentation({
  loadSink: () => ({
    ...sink,
    flushSync(ending) {
      sink.flushSync(ending);
      writeDown();
    },
  }),
});
