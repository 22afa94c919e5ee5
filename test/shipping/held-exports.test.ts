/** Exports of spans and metrics that are under way when the program ends: they have the time of its end, not of their own. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type ServerResponse, type RequestListener, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type Provider, startProvider } from '../fixtures/provider/server.mjs';
import { finished } from '../helpers/finished.ts';
import { inRepository } from '../helpers/repository.ts';

/** Default of ORANGEBOX_EXIT_FLUSH_MS, and room for a busy machine: a stock exporter would take ten seconds, or for ever. */
const LONGEST_END_MS = 500 + 3500;

let provider: Provider;
let collector: Server | undefined;

beforeAll(async () => {
  provider = await startProvider();
});

afterAll(async () => {
  await provider.close();
});

afterEach(() => {
  collector?.close();
  collector?.closeAllConnections();
});

/** Sends a byte every now and then: no timeout of silence ever ends it. */
const drip = (response: ServerResponse): void => {
  response.writeHead(200, { 'content-type': 'application/x-protobuf' });
  const timer = setInterval(() => response.write(' '), 100);
  response.on('close', () => clearInterval(timer));
};

const troubles: [name: string, answer: RequestListener][] = [
  ['never answers', () => undefined],
  ['sends its answer a byte at a time', (_request, response) => drip(response)],
  ['closes every connection', (request) => request.socket.destroy()],
  ['is to be asked again later', (_request, response) => response.writeHead(503, { 'retry-after': '8' }).end()],
];
const signals: [signal: string, env: Record<string, string>][] = [
  ['spans', { OTEL_METRICS_EXPORTER: 'none', OTEL_BSP_SCHEDULE_DELAY: '10' }],
  ['metrics', { OTEL_TRACES_EXPORTER: 'none', OTEL_METRIC_EXPORT_INTERVAL: '3000' }],
];
const cases = signals.flatMap(([signal, env]) =>
  troubles.map(([name, answer]) => [signal, name, answer, env] as const),
);

it.each(cases)(
  'lets a program end while its %s are sent to a collector that %s',
  async (_signal, _name, answer, env) => {
    let arrived = (): void => {};
    const arrival = new Promise<void>((resolve) => (arrived = resolve));
    collector = createServer((request, response) => {
      request.resume();
      request.on('error', () => undefined);
      answer(request, response);
      arrived();
    });
    await new Promise<void>((resolve) => collector?.listen(0, '127.0.0.1', resolve));
    const directory = mkdtempSync(join(tmpdir(), 'orangebox-held-'));
    try {
      const preload = inRepository('packages/orangebox/dist/register.cjs');
      const child = spawn(process.execPath, ['--require', preload, inRepository('test/shipping/lingering.cjs')], {
        env: {
          PATH: process.env['PATH'],
          TEST_PROVIDER_URL: provider.url,
          ORANGEBOX_DIR: directory,
          OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
          ...env,
        },
        stdio: ['pipe', 'pipe', 'pipe'],
      });
      void arrival.then(() => child.stdin.write('\n'));
      const { code, stdout } = await finished(child);
      expect(code).toBe(0);
      expect(Number(stdout)).toBeLessThan(LONGEST_END_MS);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  },
);
