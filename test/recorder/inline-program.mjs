// Calls a provider as it is told, by fetch, with an OpenTelemetry set-up of its own or without one. Prints what it saw.
const { TEST_PROVIDER_URL: provider, TEST_CALLS: calls = '[]', TEST_END = 'return', TEST_SETUP } = process.env;
const seen = [];
let shutDown = async () => {};

if (TEST_SETUP) {
  const { trace } = await import('@opentelemetry/api');
  const { BasicTracerProvider, BatchSpanProcessor } = await import('@opentelemetry/sdk-trace-node');
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-proto');
  const limits = TEST_SETUP === 'limited' ? { spanLimits: { attributeValueLengthLimit: 200 } } : {};
  const own = new BasicTracerProvider({ ...limits, spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] });
  if (TEST_SETUP === 'frozen') Object.freeze(own);
  // A wrapper of the application's own: what it wraps is shut down behind it.
  const hiding = Object.freeze({ getTracer: (...args) => own.getTracer(...args) });
  trace.setGlobalTracerProvider(TEST_SETUP === 'hidden' ? hiding : own);
  shutDown = () => own.shutdown();
}

for (const { body, path = '/v1/chat/completions', abortAfterMs } of JSON.parse(calls)) {
  try {
    const answer = await fetch(`${provider}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer sk-secret-of-the-header-1234' },
      body: typeof body === 'number' ? JSON.stringify(largeRequest(body)) : JSON.stringify(body),
      ...(abortAfterMs === undefined ? {} : { signal: AbortSignal.timeout(abortAfterMs) }),
    });
    seen.push([answer.status, (await answer.text()).length]);
  } catch (error) {
    seen.push([error.name]);
  }
}
await shutDown();
process.stdout.write(`${JSON.stringify(seen)}\n`);
if (TEST_END === 'sigterm') {
  process.kill(process.pid, 'SIGTERM');
  setInterval(() => {}, 1000);
}

/** Text that hardly compresses. */
function largeRequest(bytes) {
  let state = 12345;
  const random = Buffer.alloc(bytes);
  for (let i = 0; i < bytes; i += 4) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    random.writeUInt32LE(state, i);
  }
  return { model: 'gpt-4o-mini', messages: [{ role: 'user', content: random.toString('base64') }] };
}
