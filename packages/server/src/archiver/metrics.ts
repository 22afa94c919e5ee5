/** Metrics of the archiver, in a registry of their own. Names are documented and stable: `docs/archiver.md`. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { FaultReason } from './payload.ts';

/** What became of a payload that was kept. */
export type KeptOutcome = 'stored' | 'duplicate' | 'conflict' | 'repaired';

/** What became of a set of parts that was complete. */
export type AssemblyOutcome = 'verified' | 'mismatch' | 'too_large' | 'store_failed' | 'dropped';

/** What is read when metrics are asked for. */
export interface MetricSources {
  inFlightBytes(): number;
  workBytes(): number;
  waitingWrites(): number;
  indexRows(): { written: number; dropped: number; pending: number };
  pendingAssemblies(): number;
}

/** The archiver's metrics. */
export interface ArchiverMetrics {
  request(status: number): void;
  requestBytes(bytes: number): void;
  kept(outcome: KeptOutcome, bytes: number): void;
  unverified(): void;
  quarantined(reason: FaultReason): void;
  rejected(reason: FaultReason): void;
  ignoredSpans(count: number): void;
  /** A request without a token that counts. */
  unauthorized(): void;
  assembled(outcome: AssemblyOutcome): void;
  /** Seconds of one request to the store. */
  storeSeconds(operation: 'write' | 'read' | 'list', seconds: number): void;
  storeError(code: string): void;
  readonly contentType: string;
  text(): Promise<string>;
}

const PREFIX = 'orangebox_archiver_';

/** Makes the metrics; `sources` is asked at each scrape. */
export function createMetrics(version: string, sources: MetricSources): ArchiverMetrics {
  const registry = new Registry();
  const counter = (name: string, help: string, labelNames: string[] = []): Counter =>
    new Counter({ name: PREFIX + name, help, labelNames, registers: [registry] });
  const gauge = (name: string, help: string, read: () => number): Gauge =>
    new Gauge({
      name: PREFIX + name,
      help,
      registers: [registry],
      collect() {
        this.set(read());
      },
    });

  const requests = counter('requests_total', 'Requests to /v1/traces by status', ['status']);
  const requestBytes = counter('request_bytes_total', 'Bytes of request bodies, unpacked');
  const payloads = counter('payloads_total', 'Payload events by outcome', ['outcome']);
  const payloadBytes = counter('payload_bytes_total', 'Bytes of payloads written to the store');
  const quarantined = counter('quarantined_total', 'Payload events put into quarantine by reason', ['reason']);
  const rejected = counter('rejected_total', 'Payload events that were kept nowhere by reason', ['reason']);
  const unverified = counter('unverified_total', 'Payloads too large to be verified here, stored as one part');
  const unauthorized = counter('unauthorized_total', 'Requests to /v1/traces without a token that counts');
  const ignored = counter('ignored_spans_total', 'Spans without a payload');
  const assemblies = counter('assemblies_total', 'Complete sets of parts by outcome', ['outcome']);
  const storeErrors = counter('store_errors_total', 'Failed requests to the store by code', ['code']);
  new Counter({
    name: `${PREFIX}index_rows_total`,
    help: 'Index rows by outcome',
    labelNames: ['outcome'],
    registers: [registry],
    // Counted by the writer of the index; read at each scrape.
    collect() {
      const { written, dropped } = sources.indexRows();
      this.reset();
      this.inc({ outcome: 'written' }, written);
      this.inc({ outcome: 'dropped' }, Math.max(0, dropped));
    },
  });
  const storeSeconds = new Histogram({
    name: `${PREFIX}store_duration_seconds`,
    help: 'Time of requests to the store',
    labelNames: ['operation'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [registry],
  });
  gauge('in_flight_bytes', 'Bytes of requests that are being worked on', sources.inFlightBytes);
  gauge('work_bytes', 'Bytes booked for unpacking and checking', sources.workBytes);
  gauge('waiting_writes', 'Writes that wait for a place', sources.waitingWrites);
  gauge('index_pending_rows', 'Index rows that are not written yet', () => sources.indexRows().pending);
  gauge('assemblies_pending', 'Sets of parts that wait to be verified', sources.pendingAssemblies);
  gauge('resident_memory_bytes', 'Resident memory of the process', () => process.memoryUsage.rss());
  new Gauge({
    name: `${PREFIX}build_info`,
    help: 'Version of the archiver; always 1',
    labelNames: ['version', 'node'],
    registers: [registry],
  }).set({ version, node: process.versions.node }, 1);
  // Rates need a zero before the first event.
  for (const outcome of ['stored', 'duplicate', 'conflict', 'repaired', 'quarantined', 'rejected']) {
    payloads.inc({ outcome }, 0);
  }
  for (const status of [200, 400, 503]) requests.inc({ status }, 0);

  return {
    request: (status) => requests.inc({ status }),
    requestBytes: (bytes) => requestBytes.inc(bytes),
    kept(outcome, bytes) {
      payloads.inc({ outcome });
      if (outcome === 'stored' || outcome === 'repaired') payloadBytes.inc(bytes);
    },
    unverified: () => unverified.inc(),
    quarantined(reason) {
      payloads.inc({ outcome: 'quarantined' });
      quarantined.inc({ reason });
    },
    rejected(reason) {
      payloads.inc({ outcome: 'rejected' });
      rejected.inc({ reason });
    },
    unauthorized: () => unauthorized.inc(),
    ignoredSpans: (count) => ignored.inc(count),
    assembled: (outcome) => assemblies.inc({ outcome }),
    storeSeconds: (operation, seconds) => storeSeconds.observe({ operation }, seconds),
    storeError: (code) => storeErrors.inc({ code }),
    contentType: registry.contentType,
    text: () => registry.metrics(),
  };
}
