// Calls models one after the other, with OpenTelemetry of its own or without. Prints the statuses.
import { existsSync } from 'node:fs';

const { TEST_PROVIDER_URL: provider, TEST_CALLS: calls = '[]', TEST_SETUP } = process.env;
const statuses = [];
let shutDown = async () => {};

if (TEST_SETUP === 'own') {
  const { metrics, trace } = await import('@opentelemetry/api');
  const { MeterProvider, PeriodicExportingMetricReader } = await import('@opentelemetry/sdk-metrics');
  const { OTLPMetricExporter } = await import('@opentelemetry/exporter-metrics-otlp-proto');
  const { BasicTracerProvider, BatchSpanProcessor } = await import('@opentelemetry/sdk-trace-node');
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-proto');
  const meters = new MeterProvider({
    readers: [new PeriodicExportingMetricReader({ exporter: new OTLPMetricExporter() })],
  });
  const tracers = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] });
  metrics.setGlobalMeterProvider(meters);
  trace.setGlobalTracerProvider(tracers);
  meters.getMeter('app').createCounter('app.own').add(1);
  // Metrics first: what is measured of the last call must be in time for it.
  shutDown = async () => {
    await meters.shutdown();
    await tracers.shutdown();
  };
}

for (const call of JSON.parse(calls)) {
  const answer = await fetch(`${provider}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'hi' }], ...call }),
  });
  await answer.text();
  statuses.push(answer.status);
}
if (process.env.TEST_WAIT_FOR) {
  while (!existsSync(process.env.TEST_WAIT_FOR)) await new Promise((resolve) => setTimeout(resolve, 20));
}
await shutDown();
process.stdout.write(`${JSON.stringify(statuses)}\n`);
