/**
 * The private provider: all imports of the OpenTelemetry SDK stand here. Loading it costs tens of milliseconds, so it is
 * only ever imported dynamically, while the first answer is awaited. It registers nothing with the API.
 */
import { resourceFromAttributes, defaultResource } from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  BasicTracerProvider,
  ConsoleSpanExporter,
  type ReadableSpan,
  type SpanExporter,
  SimpleSpanProcessor,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { ATTR, type FidelityReason, INSTRUMENTATION_SCOPE, SEMCONV_SCHEMA_URL } from '@orangebox/schema';
import type { RecorderConfig } from '../config.ts';
import { BatchProcessor } from './batch-processor.ts';
import { API_SPAN_KIND, API_STATUS_ERROR, hrTime } from './api-shapes.ts';
import { BoundedExporter } from './bounded-exporter.ts';
import { contextWithParent, ROOT_CONTEXT } from './context.ts';
import { ExitingExporter } from './exiting-exporter.ts';
import type { FinishedSpan, PayloadsExported, SpanSink, SpansSent } from './finished-span.ts';
import { PayloadBacklog } from './payload-backlog.ts';
import { unheld } from './unheld-exporter.ts';

/** Gives the SDK the ids that a span already has in the segment. */
class GivenIds {
  next: { traceId: string; spanId: string } = { traceId: '', spanId: '' };
  readonly generateTraceId = (): string => this.next.traceId;
  readonly generateSpanId = (): string => this.next.spanId;
}

/** Makes the private provider. Exporter, batching and limits read their standard `OTEL_*` variables themselves. */
export async function createSdkProvider(
  config: RecorderConfig,
  version: string,
  onExported: PayloadsExported = () => {},
  onRefused: (error: Error | undefined) => void = () => {},
  onSent: SpansSent = () => {},
): Promise<SpanSink> {
  const ids = new GivenIds();
  const backlog = new PayloadBacklog(() => processor.forceFlush(), onExported);
  const { processor, exporting } = await createProcessor(config, backlog, onRefused, onSent);
  const provider = providerWith(processor, ids, config);
  const tracer = tracerOf(provider, version);
  return {
    add(span) {
      ids.next = span.trace;
      backlog.added(span);
      recordSpan(tracer, span);
      backlog.flushIfLarge();
    },
    isCongested: () => backlog.isCongested,
    async flush(timeoutMs) {
      exporting?.leaveWithin(timeoutMs);
      try {
        await processor.forceFlush();
      } finally {
        exporting?.stay();
      }
    },
  };
}

/** Exports one span in a request of its own and tells how that went; `reason` is what the exporter says. */
export async function exportOnce(
  span: FinishedSpan,
  config: RecorderConfig,
  version: string,
): Promise<{ accepted: boolean; reason?: string }> {
  const exporter = (await otlpExporterFactory(config.otel.protocol))({});
  const ids = new GivenIds();
  ids.next = span.trace;
  const answer = await new Promise<{ accepted: boolean; reason?: string }>((resolve) => {
    const telling: SpanExporter = {
      export: (spans, done) =>
        exporter.export(spans, (result) => {
          done(result);
          resolve(
            result.code === EXPORT_SUCCESS
              ? { accepted: true }
              : { accepted: false, reason: result.error?.message ?? 'the exporter failed' },
          );
        }),
      shutdown: () => exporter.shutdown(),
    };
    recordSpan(tracerOf(providerWith(new SimpleSpanProcessor(telling), ids, config), version), span);
  });
  await exporter.shutdown();
  return answer;
}

/**
 * Exports spans of one process in one request, under its resource, and tells how that went: spans that another process has
 * left. The exporter retries for as long as its time limit allows.
 */
export async function exportBatch(
  spans: readonly FinishedSpan[],
  config: Pick<RecorderConfig, 'otel' | 'resource' | 'serviceName'>,
  version: string,
): Promise<{ accepted: boolean; reason?: string }> {
  const exporter = unheld((await otlpExporterFactory(config.otel.protocol))({}));
  const ended: ReadableSpan[] = [];
  const gathering: SpanProcessor = {
    onStart() {},
    onEnd: (span) => void ended.push(span),
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
  };
  const ids = new GivenIds();
  const tracer = tracerOf(providerWith(gathering, ids, config), version);
  for (const span of spans) {
    ids.next = span.trace;
    recordSpan(tracer, span);
  }
  const answer = await new Promise<{ accepted: boolean; reason?: string }>((resolve) => {
    exporter.export(ended, ({ code, error }) =>
      resolve(
        code === EXPORT_SUCCESS
          ? { accepted: true }
          : { accepted: false, reason: error?.message ?? 'the exporter failed' },
      ),
    );
  });
  await exporter.shutdown();
  return answer;
}

/** `ExportResultCode.SUCCESS`. */
const EXPORT_SUCCESS = 0;

function providerWith(
  processor: SpanProcessor,
  ids: GivenIds,
  config: Pick<RecorderConfig, 'resource' | 'serviceName'>,
): BasicTracerProvider {
  return new BasicTracerProvider({
    idGenerator: ids,
    // Spans that the configured sampler dropped never come here (see sampling.ts).
    sampler: new AlwaysOnSampler(),
    resource: defaultResource().merge(
      resourceFromAttributes({ ...config.resource, 'service.name': config.serviceName }),
    ),
    spanProcessors: [processor],
  });
}

function tracerOf(provider: BasicTracerProvider, version: string): ReturnType<BasicTracerProvider['getTracer']> {
  return provider.getTracer(INSTRUMENTATION_SCOPE, version, { schemaUrl: SEMCONV_SCHEMA_URL });
}

/** Starts and ends the span; its processor has it then. */
function recordSpan(tracer: ReturnType<typeof tracerOf>, span: FinishedSpan): void {
  const started = tracer.startSpan(
    span.name,
    {
      kind: API_SPAN_KIND[span.kind],
      startTime: hrTime(span.startUnixNano),
      attributes: span.attributes,
    },
    parentContext(span),
  );
  if (span.status.code === 'error') {
    const { message } = span.status;
    started.setStatus({ code: API_STATUS_ERROR, ...(message === undefined ? {} : { message }) });
  }
  if (span.event) started.addEvent(span.event.name, span.event.attributes, hrTime(span.endUnixNano));
  started.end(hrTime(span.endUnixNano));
}

function parentContext({ trace }: FinishedSpan): ReturnType<typeof contextWithParent> {
  if (trace.parentSpanId === undefined) return ROOT_CONTEXT;
  return contextWithParent(undefined, { traceId: trace.traceId, spanId: trace.parentSpanId, sampled: trace.sampled });
}

async function createProcessor(
  config: RecorderConfig,
  backlog: PayloadBacklog,
  onRefused: (error: Error | undefined) => void,
  onSent: SpansSent,
): Promise<{ processor: SpanProcessor; exporting?: ExitingExporter }> {
  const bounded = (exporter: SpanExporter): SpanExporter =>
    new BoundedExporter(exporter, (spans, isAccepted, error) => {
      backlog.exported(spans, isAccepted);
      if (!isAccepted) onRefused(error);
      else if (config.otel.exporter === 'otlp') onSent(ownSpanIds(spans));
    });
  if (config.otel.exporter === 'console') {
    return { processor: new SimpleSpanProcessor(bounded(new ConsoleSpanExporter())) };
  }
  const create = await otlpExporterFactory(config.otel.protocol);
  const exporting = new ExitingExporter((options) => unheld(create(options)));
  const processor = new BatchProcessor(bounded(exporting), config.otel.batch, (span) =>
    backlog.exported([span], false),
  );
  return { processor, exporting };
}

/** Span ids of calls and tools that stand in the segment: attempts have no snapshot of their own, and what is not kept no end. */
function ownSpanIds(spans: readonly ReadableSpan[]): string[] {
  const notSampled: FidelityReason = 'not_sampled';
  return spans.flatMap((span) => {
    const { [ATTR.snapshotFidelity]: level, [ATTR.snapshotFidelityReason]: reason } = span.attributes;
    return level === undefined || reason === notSampled ? [] : [span.spanContext().spanId];
  });
}

async function otlpExporterFactory(
  protocol: RecorderConfig['otel']['protocol'],
): Promise<(options: { timeoutMillis?: number }) => SpanExporter> {
  const { OTLPTraceExporter } =
    protocol === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto');
  return (options) => new OTLPTraceExporter(options);
}
