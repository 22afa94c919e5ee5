/** The faults, and what an operator must see of each. */
import { setTimeout as wait } from 'node:timers/promises';
import type { RunningServer } from '../servers/index.ts';
import type { Fault, FaultConfig, FaultScene, Sign } from './faulty-run.ts';
import type { S3Fault } from './s3-proxy.ts';

const sign = (metric: string, pattern: RegExp | string, above = 0): Sign => ({ metric, pattern, above });
const storeErrors = (code: string): Sign =>
  sign(
    `orangebox_archiver_store_errors_total{code="${code}"}`,
    new RegExp(`^archiver orangebox_archiver_store_errors_total\\{code=${code}\\}`),
  );
const refusedPayloads = sign(
  'otelcol_receiver_refused_spans{receiver="otlp/payload"}',
  /^collector otelcol_receiver_refused_spans.*receiver=otlp\/payload/,
);
const payloadQueue = sign(
  'otelcol_exporter_queue_size{exporter="otlp_http/archiver"}',
  /^collector otelcol_exporter_queue_size.*otlp_http\/archiver/,
  20_000,
);
const metadataQueue = sign(
  'otelcol_exporter_queue_size{exporter="otlp_http/jaeger"}',
  /^collector otelcol_exporter_queue_size.*otlp_http\/jaeger/,
  2_000,
);
const pending = sign('orangebox_recorder_pending', /^programs orangebox_recorder_pending/, 5);
const oldestAge = (seconds: number): Sign =>
  sign('orangebox_recorder_oldest_unsent_age_seconds', /^programs orangebox_recorder_oldest_unsent_age/, seconds);
const gone = (page: 'collector' | 'archiver'): Sign => sign(`up{job="${page}"} == 0`, page);

/** Payloads that cannot go further wait where the configuration has them wait. */
export const pendingSigns = (config: FaultConfig): Sign[] =>
  config === 'queue' ? [payloadQueue] : [refusedPayloads, pending, oldestAge(3)];

/** Kills a server again and again at random moments under load. */
async function killAgain(server: RunningServer, page: string, { quick, watch }: FaultScene): Promise<void> {
  for (let n = 0; n < (quick ? 3 : 10); n++) {
    await wait(300 + Math.random() * 2200);
    await watch.look(page);
    await server.kill('SIGKILL');
    await wait(Math.random() * 700);
    await server.restart();
  }
}

/** A fault of the S3 server's answers for a while. */
function badAnswers(
  name: string,
  title: string,
  fault: S3Fault,
  signs: (config: FaultConfig) => readonly Sign[],
  more: Partial<Fault> & { lasts?: number } = {},
): Fault {
  const { lasts = 20, ...rest } = more;
  return {
    name,
    title,
    async happen({ s3, seconds }) {
      s3.fault = fault;
      await seconds(lasts);
      s3.fault = { kind: 'none' };
    },
    signs,
    ...rest,
  };
}

const denied = { kind: 'status', status: 403, code: 'AccessDenied' } as const;
const failing = { kind: 'status', status: 500, code: 'InternalError' } as const;

/** All faults. */
export const FAULTS: readonly Fault[] = [
  {
    name: 's3-down',
    title: 'S3 down for 2 minutes',
    async happen({ servers: { weed }, seconds }) {
      await weed?.kill('SIGKILL');
      await seconds(120, 10);
      await weed?.restart();
    },
    signs: (config) => [storeErrors('OBX_STORE_UNREACHABLE'), ...pendingSigns(config)],
  },
  {
    name: 'collector-killed',
    title: 'collector killed 10 times',
    happen: (scene) => killAgain(scene.servers.collector, 'collector', scene),
    signs: () => [gone('collector')],
  },
  {
    name: 'archiver-killed',
    title: 'archiver killed 10 times',
    happen: (scene) => killAgain(scene.servers.archiver as RunningServer, 'archiver', scene),
    signs: (config) => [gone('archiver'), ...(config === 'queue' ? [] : [refusedPayloads])],
  },
  {
    name: 'jaeger-down',
    title: 'Jaeger down for 30 s',
    async happen({ servers: { jaeger }, seconds }) {
      await jaeger.kill('SIGKILL');
      await seconds(30);
      await jaeger.restart();
    },
    signs: () => [metadataQueue],
    forgetsSpans: true,
  },
  {
    name: 'payload-side-down',
    title: 'archiver down for 30 s',
    async happen({ servers: { archiver }, seconds }) {
      await archiver?.kill('SIGKILL');
      await seconds(30);
      await archiver?.restart();
    },
    signs: (config) => [gone('archiver'), ...pendingSigns(config)],
  },
  badAnswers('s3-403', 'S3 answers 403 for 20 s', denied, (config) => [
    storeErrors('OBX_STORE_DENIED'),
    ...pendingSigns(config),
  ]),
  badAnswers('s3-500', 'S3 answers 500 for 20 s', failing, (config) => [
    storeErrors('OBX_STORE_UNREACHABLE'),
    ...pendingSigns(config),
  ]),
  badAnswers(
    's3-500-mostly',
    'S3 answers 500 to 9 of 10 requests for 40 s',
    { ...failing, share: 0.9 },
    (config) => [storeErrors('OBX_STORE_UNREACHABLE'), ...pendingSigns(config)],
    { lasts: 40 },
  ),
  badAnswers(
    's3-slow',
    'S3 takes 3 s longer for each request, for 30 s',
    { kind: 'slow', ms: 3000 },
    (config) => [
      sign(
        'orangebox_archiver_store_duration_seconds (write, sum)',
        /^archiver orangebox_archiver_store_duration_seconds_sum\{operation=write\}/,
        10,
      ),
      ...(config === 'queue' ? [payloadQueue] : [pending, oldestAge(3)]),
    ],
    { lasts: 30 },
  ),
  badAnswers(
    's3-hang',
    'S3 does not answer for 45 s',
    { kind: 'hang' },
    (config) => [
      storeErrors('OBX_STORE_UNREACHABLE'),
      ...(config === 'queue' ? [payloadQueue] : [pending, oldestAge(3)]),
    ],
    { lasts: 45 },
  ),
  badAnswers('s3-cut', 'S3 closes the connection in the middle of a request, 20 s', { kind: 'cut' }, (config) => [
    storeErrors('OBX_STORE_UNREACHABLE'),
    ...pendingSigns(config),
  ]),
  badAnswers('s3-mute', 'S3 stores, then closes without an answer, 20 s', { kind: 'mute' }, (config) => [
    storeErrors('OBX_STORE_UNREACHABLE'),
    ...pendingSigns(config),
  ]),
  {
    name: 'wrong-token',
    title: 'archiver and collector disagree on the token for 20 s',
    options: () => ({ token: 'the-token-of-both' }),
    async happen({ servers: { archiver, weed, store }, s3, seconds }) {
      const env = { ...weed?.clientEnv, ORANGEBOX_STORE: store, AWS_ENDPOINT_URL_S3: s3.url };
      await archiver?.restart({ ...env, ORANGEBOX_ARCHIVE_TOKEN: 'another' });
      await seconds(20);
      await archiver?.restart({ ...env, ORANGEBOX_ARCHIVE_TOKEN: 'the-token-of-both' });
    },
    signs: (config) => [
      sign('orangebox_archiver_unauthorized_total', /^archiver orangebox_archiver_unauthorized_total/),
      ...(config === 'queue' ? [payloadQueue] : [pending, oldestAge(3)]),
    ],
  },
  {
    name: 'full',
    title: 'no room: queue.yaml with a queue of 10 MiB, collector.yaml before an archiver of 32 MiB, while S3 is slow',
    load: (config) =>
      config === 'queue'
        ? { promptBytes: 200_000, perSecond: 10, largeEvery: 0 }
        : // Two parts of 8 MiB are more than it takes at once.
          { perSecond: 2, largeEvery: 2 },
    options: (config) =>
      config === 'queue'
        ? { collectorEnv: { ORANGEBOX_QUEUE_BYTES: String(10 * 2 ** 20) } }
        : { archiverEnv: { ORANGEBOX_ARCHIVE_MEMORY_BYTES: '32MiB' } },
    async happen({ s3, seconds }) {
      s3.fault = { kind: 'slow', ms: 2000 };
      await seconds(60);
      s3.fault = { kind: 'none' };
    },
    signs: (config) => [
      ...(config === 'queue'
        ? [
            payloadQueue,
            sign(
              'otelcol_exporter_enqueue_failed_spans{exporter="otlp_http/archiver"}',
              /^collector otelcol_exporter_enqueue_failed_spans.*otlp_http\/archiver/,
            ),
          ]
        : [
            sign(
              'orangebox_archiver_requests_total{status="503"}',
              /^archiver orangebox_archiver_requests_total\{status=503\}/,
            ),
            sign('orangebox_archiver_in_flight_bytes', /^archiver orangebox_archiver_in_flight_bytes/, 2 ** 20),
          ]),
      refusedPayloads,
      pending,
    ],
  },
];
