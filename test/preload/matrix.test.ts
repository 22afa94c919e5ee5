/** Every way to load the preload, in both module systems, beside every way an application sets up OpenTelemetry. */
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Provider, startProvider } from '../fixtures/provider/server.mjs';
import { inRepository } from '../helpers/repository.ts';
import type { ReceivedSpan } from '../helpers/otlp-receiver.mjs';
import { type Flag, type ProgramOptions, type ProgramRun, runProgram } from './harness.ts';

/** Calls that each program makes. */
const CALLS = 4;
const flags: Flag[] = ['--require', '--import', 'both', 'NODE_OPTIONS'];
const modules = ['cjs', 'mjs'] as const;

const program = (name: string): string => inRepository(`test/programs/${name}`);
const before = (name: string): Partial<ProgramOptions> => ({ requiredBefore: [program(`${name}/setup-sdk.cjs`)] });
const auto = program('otel-node/node_modules/@opentelemetry/auto-instrumentations-node/build/src/register.js');

interface SetUp {
  name: string;
  directory: string;
  options?: Partial<ProgramOptions>;
}

const setUps: SetUp[] = [
  { name: 'no OpenTelemetry', directory: inRepository('test/preload'), options: {} },
  { name: 'NodeSDK before', directory: program('otel-node'), options: before('otel-node') },
  { name: 'NodeSDK after', directory: program('otel-node'), options: { env: { TEST_SETUP: 'after' } } },
  { name: 'API 1.4 after', directory: program('otel-api-1-4'), options: { env: { TEST_SETUP: 'after' } } },
  { name: 'API 1.10 before', directory: program('otel-api-1-10'), options: before('otel-api-1-10') },
  { name: 'auto-instrumentations-node', directory: program('otel-node'), options: { requiredBefore: [auto] } },
];

// SDK 3 needs Node.js 22.15, and is installed by the lane of other versions.
const sdk3 = inRepository('test/lanes/nodes/otel-sdk-3');
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (existsSync(`${sdk3}/node_modules`) && (major > 22 || (major === 22 && minor >= 15))) {
  setUps.push({ name: 'SDK 3 before', directory: sdk3, options: { requiredBefore: [`${sdk3}/setup-sdk.cjs`] } });
  setUps.push({ name: 'SDK 3 after', directory: sdk3, options: { env: { TEST_SETUP: 'after' } } });
}

let provider: Provider;

beforeAll(async () => {
  provider = await startProvider();
});

afterAll(async () => {
  await provider.close();
});

function run(setUp: SetUp, module: string, flag?: Flag): Promise<ProgramRun> {
  const file = `${setUp.directory}/${setUp.name === 'no OpenTelemetry' ? 'plain' : 'app'}.${module}`;
  return runProgram({
    exports: true,
    ...setUp.options,
    file,
    ...(flag ? { flag } : {}),
    env: { ...setUp.options?.env, TEST_PROVIDER_URL: provider.url },
  });
}

const isOurs = (span: ReceivedSpan): boolean => span.scope === 'orangebox';
const hasUsage = (span: ReceivedSpan): boolean => span.attributes['gen_ai.usage.input_tokens'] !== undefined;
const labels = (spans: ReceivedSpan[]): string[] => spans.map((s) => `${s.scope}: ${s.name}`).sort();

describe.each(setUps)('beside $name', (setUp) => {
  describe.each(modules)('in a program with .%s files', (module) => {
    let without: ProgramRun;

    beforeAll(async () => {
      without = await run(setUp, module);
    });

    it.each(flags)('records each call once with %s', async (flag) => {
      const with_ = await run(setUp, module, flag);
      expect(with_.stderr).toBe(without.stderr);
      expect([with_.code, with_.stdout]).toEqual([0, without.stdout]);

      // One snapshot per call.
      const keys = with_.calls.map((call) => call.key);
      expect(with_.calls).toHaveLength(CALLS);
      expect(new Set(keys).size).toBe(CALLS);

      // One span of ours per call, under the key and ids that stand in the segment.
      const ours = with_.spans.filter(isOurs);
      const spanFacts = ours.map((s) => [s.attributes['orangebox.snapshot.key'], s.traceId, s.spanId, s.parentSpanId]);
      const callFacts = with_.calls.map(({ key, trace: t }) => [key, t.traceId, t.spanId, t.parentSpanId]);
      expect(spanFacts.sort()).toEqual(callFacts.sort());

      // One usage-bearing span per call, whoever made it.
      expect(labels(with_.spans.filter(hasUsage))).toHaveLength(CALLS);

      // The application's own spans are all there, and nothing of ours among them.
      expect(labels(with_.spans.filter((s) => !isOurs(s)))).toEqual(labels(without.spans));
      expect(new Set(with_.spans.map((s) => s.spanId)).size).toBe(with_.spans.length);
    });
  });
});
