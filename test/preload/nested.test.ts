/** Where another instrumentation already has a gen_ai span for the very call, ours hangs beneath it and counts nothing. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { publishesCreation } from '../../packages/instrument/src/http-tap.ts';
import { type Provider, startProvider } from '../fixtures/provider/server.mjs';
import { inRepository } from '../helpers/repository.ts';
import { type ProgramOptions, runProgram } from './harness.ts';

const modules = inRepository('test/programs/otel-node/node_modules/@opentelemetry');
const auto = `${modules}/auto-instrumentations-node/build/src/register.js`;
const openaiScope = '@opentelemetry/instrumentation-openai';
const httpScope = '@opentelemetry/instrumentation-http';
/** Where requests are published as they are made, that is within the span of the http instrumentation, whoever came first. */
const channelsOfHttp = publishesCreation(process.versions.node);

let provider: Provider;

beforeAll(async () => {
  provider = await startProvider();
});

afterAll(async () => {
  await provider.close();
});

const programs: [name: string, scope: string, calls: number, options: ProgramOptions][] = [
  [
    "auto-instrumentations-node in CommonJS, beside undici's",
    openaiScope,
    4,
    { file: inRepository('test/programs/otel-node/app.cjs'), requiredBefore: [auto] },
  ],
  [
    'auto-instrumentations-node in ESM, through its loader hook',
    openaiScope,
    4,
    {
      file: inRepository('test/programs/otel-node/app.mjs'),
      requiredBefore: [auto],
      env: { NODE_OPTIONS: `--no-warnings --experimental-loader=${modules}/instrumentation/hook.mjs` },
    },
  ],
  [
    "auto-instrumentations-node around openai 4, beside http's",
    channelsOfHttp ? httpScope : openaiScope,
    4,
    { file: inRepository('test/preload/openai-4.cjs'), requiredBefore: [auto] },
  ],
  ['the AI SDK', 'ai', 2, { file: inRepository('test/programs/ai-sdk-otel/app.mjs') }],
];

it('counts nothing twice where an HTTP span stands between, the preload being first', async () => {
  const run = await runProgram({
    file: inRepository('test/preload/openai-4.cjs'),
    flag: '--require',
    requiredAfter: [auto],
    exports: true,
    env: { TEST_PROVIDER_URL: provider.url },
  });
  expect([run.code, run.stderr]).toEqual([0, '']);
  const ours = run.spans.filter((span) => span.scope === 'orangebox');
  const usage = run.spans.filter((span) => span.attributes['gen_ai.usage.input_tokens'] !== undefined);
  expect(ours.map((span) => typeof span.attributes['orangebox.snapshot.key'])).toEqual(Array(4).fill('string'));
  expect(usage.map((span) => span.scope)).toEqual(Array(4).fill(openaiScope));
});

it.each(programs)('hangs beneath the span of %s', async (_name, scope, calls, options) => {
  const run = await runProgram({
    ...options,
    flag: '--require',
    exports: true,
    env: { ...options.env, TEST_PROVIDER_URL: provider.url },
  });
  expect([run.code, run.stderr]).toEqual([0, '']);
  const byId = new Map(run.spans.map((span) => [span.spanId, span]));
  const ours = run.spans.filter((span) => span.scope === 'orangebox');
  expect(ours).toHaveLength(calls);
  expect(run.calls).toHaveLength(calls);
  for (const span of ours) {
    const parent = byId.get(span.parentSpanId ?? '');
    // OTLP's INTERNAL; the first beneath an HTTP span is begun as CLIENT, since nobody knew yet what stands above that.
    const isUnknown = scope === httpScope && span === ours[0];
    expect([span.kind, parent?.scope]).toEqual([isUnknown ? 3 : 1, scope]);
    expect(span.attributes['orangebox.snapshot.key']).toMatch(/^v1\//);
    expect(Object.keys(span.attributes).filter((name) => name.startsWith('gen_ai.usage'))).toEqual([]);
    expect(span.attributes['gen_ai.operation.name']).toBeUndefined();
  }
  // Each parent once: no two of ours for one call.
  expect(new Set(ours.map((span) => span.parentSpanId)).size).toBe(calls);
});
