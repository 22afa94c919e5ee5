/** Runs the test program under the built preload, and gives what it left: in the recording directory and at a receiver. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeBody } from '@orangebox/codec';
import type { CallEndRecord, Exchange, Snapshot } from '@orangebox/schema';
import { openStore } from '@orangebox/store';
import { decodeSpans, type ReceivedSpan, startOtlpReceiver } from '../helpers/otlp-receiver.mjs';
import { readRecording, registerFile } from '../preload/harness.ts';
import { type Outcome, type RunOptions, runProgram } from './harness.ts';

/** A run, and what was recorded of it. */
export interface RecordedRun extends Outcome {
  snapshots: Snapshot[];
  /** Ended calls as they stand in the segment. */
  calls: CallEndRecord[];
  /** Spans that the receiver got. */
  sent: ReceivedSpan[];
  /** Digests of the payloads that the receiver got. */
  payloads: string[];
}

/** Runs a program with the preload; spans and payloads go to a receiver of its own. */
export async function runRecorded(program: string, options: RunOptions = {}): Promise<RecordedRun> {
  const directory = mkdtempSync(join(tmpdir(), 'orangebox-recorded-'));
  const receiver = await startOtlpReceiver();
  try {
    const outcome = await runProgram(program, {
      ...options,
      nodeArgs: ['--require', registerFile, ...(options.nodeArgs ?? [])],
      env: {
        ORANGEBOX_DIR: directory,
        ORANGEBOX_ENDPOINT: receiver.url,
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        // A busy machine needs longer than the half second that a program is kept for.
        ORANGEBOX_EXIT_FLUSH_MS: '10000',
        ...options.env,
      },
    });
    const { calls } = readRecording(directory);
    const payloads = receiver.payloads().map(({ digest }) => digest);
    return { ...outcome, snapshots: await readSnapshots(directory), calls, sent: receiver.metadataSpans(), payloads };
  } finally {
    await receiver.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Every snapshot of a directory, digests checked, in the order of their starts. */
async function readSnapshots(directory: string): Promise<Snapshot[]> {
  const store = await openStore(directory);
  const snapshots: Snapshot[] = [];
  for await (const entry of store.list()) snapshots.push(await store.load(entry));
  await store.close();
  return snapshots.sort((a, b) => Number(BigInt(a.time.startUnixNano) - BigInt(b.time.startUnixNano)));
}

/** The spans of a call as its record in the segment has them, read as a receiver reads them: the call's own first. */
export function recordedSpans(call: CallEndRecord): ReceivedSpan[] {
  const request = { resourceSpans: [{ scopeSpans: [{ scope: { name: 'orangebox' }, spans: call.spans }] }] };
  return decodeSpans(Buffer.from(JSON.stringify(request)), 'application/json');
}

/** What both forms of a span must say. */
export function spanFacts(span: ReceivedSpan): Record<string, unknown> {
  const { traceId, spanId, parentSpanId, name, kind, startUnixNano, endUnixNano, attributes, status } = span;
  return { traceId, spanId, parentSpanId, name, kind, startUnixNano, endUnixNano, attributes, status: status.code };
}

/** `ending/stage/status` of an exchange. */
export function endingOf(exchange: Exchange): string {
  return `${exchange.ending}/${exchange.stage}/${exchange.response?.status}`;
}

/** Body bytes that came in, as text. */
export function responseText(exchange: Exchange): string {
  return exchange.response ? Buffer.from(decodeBody(exchange.response.body)).toString() : '';
}

/** Body bytes that went out, as text. */
export function requestText(exchange: Exchange): string {
  return Buffer.from(decodeBody(exchange.request.body)).toString();
}
