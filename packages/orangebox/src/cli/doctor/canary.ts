/** `orangebox doctor --canary`: a marked call goes the whole way, and its payload must end in the store and nowhere else. */
import { prepareSend, readConfig, type RecorderConfig, type SendAnswer } from '@orangebox/recorder';
import { OrangeboxError, snapshotKey } from '@orangebox/schema';
import { CANARY_NAME, type ObjectBucket } from '@orangebox/store';
import type { CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { parseDuration, usage } from '../parse-options.ts';
import { shownUrl } from '../places.ts';
import { withProgress } from '../progress.ts';
import { safeJson } from '../text/escape.ts';
import { formatDuration } from '../text/format.ts';
import { openAuditPlaces } from './audit-places.ts';
import { LeakSearch } from './canary-leak.ts';
import { makeCanary } from './canary-snapshot.ts';
import { CanarySteps } from './canary-steps.ts';
import { watch, type Watched } from './canary-watch.ts';

/** Options of the canary, as typed. */
export interface CanaryOptions {
  wait?: string;
  keep?: boolean;
  json?: boolean;
}

const WAIT_MS = 60_000;

/** How long the trace backend is watched after everything has arrived: batches of another way may come later. */
const SETTLE_MS = 5000;

/** Sends, waits, looks; exit code 1 when a payload leaked or did not arrive whole. */
export async function canary(context: CommandContext, options: CanaryOptions): Promise<number> {
  const { terminal } = context;
  const waitMs = options.wait === undefined ? WAIT_MS : parseDuration(options.wait, '--wait');
  const config = configOf(context);
  const { source, sourcePlace, bucket } = await openAuditPlaces(context, 'doctor --canary');
  if (sourcePlace === undefined)
    throw usage('doctor --canary looks into a trace backend, not into local recordings', 'name it with --source');
  const steps = new CanarySteps(options.json === true ? undefined : terminal);
  const { snapshot, marker } = makeCanary(Date.now());
  const key = snapshotKey(snapshot);
  const { traceId, spanId } = snapshot.trace;
  try {
    const prepared = await prepareSend(config, snapshot);
    const way = config.mode === 'inline' ? 'payload on the span' : `payload to ${shownUrl(config.endpoint ?? '')}`;
    steps.add('set-up', 'ok', `${config.mode}: span ${traceId}:${spanId} to the OTLP endpoint, ${way}`);
    tellSent(steps, 'span', await prepared.sendSpan());
    if (prepared.sendPayload) tellSent(steps, 'payload', await prepared.sendPayload());
    const leak = new LeakSearch(marker, prepared.gzip);
    const target = { traceId, key, source, sourcePlace, bucket, leak };
    // What was refused will not come, but what leaked may be there all the same.
    const timeMs = steps.failed ? Math.min(waitMs, SETTLE_MS) : waitMs;
    const seen = await withProgress(terminal, () => 'waiting for it to arrive', watch(target, timeMs, SETTLE_MS));
    tellBackend(steps, seen, timeMs, shownUrl(sourcePlace.url));
    tellStore(steps, seen, timeMs, snapshot.digest, `${bucket.location}/${key}`);
    tellLeak(steps, seen);
    if (options.keep !== true) await cleanUp(steps, bucket, key);
  } finally {
    await bucket.close();
  }
  if (options.json === true)
    terminal.line(safeJson({ passed: !steps.failed, traceId, spanId, key, mode: config.mode, steps: steps.steps }, 2));
  return steps.failed ? EXIT.finding : EXIT.ok;
}

/** What the environment makes a recorder do, under the canary's name. */
function configOf(context: CommandContext): RecorderConfig {
  const warnings: string[] = [];
  const config = readConfig(
    context.env.all,
    (_variable, message) => warnings.push(message),
    () => context.cwd,
  );
  if (config.mode !== 'split' && config.mode !== 'inline') {
    throw usage(
      warnings[0] ?? 'nothing says where payloads go, so there is no way to try',
      'set what the programs have: ORANGEBOX_ENDPOINT, or ORANGEBOX_TRANSPORT=inline, with OTEL_EXPORTER_OTLP_ENDPOINT',
    );
  }
  if (config.otel.exporter !== 'otlp') {
    throw usage(
      'nothing says where spans go',
      "set OTEL_EXPORTER_OTLP_ENDPOINT to the endpoint that the programs' spans go to",
    );
  }
  return { ...config, serviceName: CANARY_NAME };
}

function tellSent(steps: CanarySteps, name: 'span' | 'payload', answer: SendAnswer): void {
  if (answer.accepted) {
    steps.add(name, 'ok', name === 'span' ? 'taken by the OTLP endpoint' : 'taken by the payload endpoint');
    return;
  }
  const variables =
    name === 'span'
      ? 'OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_HEADERS'
      : 'ORANGEBOX_ENDPOINT and ORANGEBOX_HEADERS';
  const hint = `is the collector up, and are ${variables} right? 503 with sync-ack says that the store behind it refuses`;
  steps.add(name, 'failed', `not taken: ${answer.reason ?? 'no reason given'}`, hint);
}

function tellBackend(steps: CanarySteps, seen: Watched, waitMs: number, backend: string): void {
  if (seen.spanAfterMs === undefined) {
    const hint =
      'look at the metadata pipeline of the collector and its exporter; a tail sampler may have dropped it, and Tempo needs some seconds (--wait)';
    steps.add('trace backend', 'failed', `${backend} has no span of it after ${formatDuration(waitMs)}`, hint);
    return;
  }
  steps.add('trace backend', 'ok', `${backend} had the span after ${formatDuration(seen.spanAfterMs)}`);
}

function tellStore(steps: CanarySteps, seen: Watched, waitMs: number, digest: string, place: string): void {
  if (seen.stored !== undefined && seen.stored.digest === digest) {
    steps.add('store', 'ok', `${place} verified after ${formatDuration(seen.storedAfterMs ?? 0)}`);
    return;
  }
  if (seen.damage !== undefined || seen.stored !== undefined) {
    const why = seen.damage === undefined ? 'it is another snapshot' : seen.damage.message;
    steps.add('store', 'failed', `${place} is not what was sent: ${why}`, 'something on the way changes payloads');
    return;
  }
  const hint =
    'look at the payload pipeline: a guard drops keys it does not know silently, the archiver logs what it refuses (and puts it under quarantine/), and the store named here may be another than the one written to';
  steps.add('store', 'failed', `nothing under ${place} after ${formatDuration(waitMs)}`, hint);
}

function tellLeak(steps: CanarySteps, seen: Watched): void {
  if (seen.leak !== undefined) {
    const hint =
      'whoever may read traces can read conversations: take payloads out of the metadata pipeline (collector-config/collector.yaml shows how), and delete what is there';
    steps.add('no leak', 'failed', `the trace backend shows ${seen.leak}`, hint);
  } else if (seen.spanAfterMs === undefined) {
    steps.add('no leak', 'warning', 'nothing of the payload in the trace backend, but the span is not there either');
  } else if (seen.twins > 0) {
    const hint =
      'the payload pipeline leads to the trace backend as well: its payload was stripped, the span is double';
    steps.add('no leak', 'warning', `the trace backend has ${seen.twins + 1} spans of it, none with a payload`, hint);
  } else steps.add('no leak', 'ok', `nothing of the payload in ${seen.answers} answers of the trace backend`);
}

async function cleanUp(steps: CanarySteps, bucket: ObjectBucket, key: string): Promise<void> {
  try {
    const names: string[] = [];
    for await (const { name } of bucket.list(`${key}/`)) names.push(name);
    if (names.length === 0) return;
    await bucket.delete(names);
    steps.add('clean-up', 'ok', 'deleted from the store; its span stays, and doctor --since leaves it out');
  } catch (error) {
    if (!(error instanceof OrangeboxError)) throw error;
    steps.add('clean-up', 'warning', `it stays in the store: ${error.message}`, 'it does no harm; --keep does not try');
  }
}
