import { ROOT_CONTEXT, trace, TraceFlags } from '@opentelemetry/api';
import { BasicTracerProvider, SamplingDecision } from '@opentelemetry/sdk-trace-node';
import { afterEach, expect, it } from 'vitest';
import { randomHex } from '../spans.ts';
import { samplingDecision } from './sampling.ts';

afterEach(() => {
  delete process.env['OTEL_TRACES_SAMPLER'];
  delete process.env['OTEL_TRACES_SAMPLER_ARG'];
});

it.each([
  [undefined, undefined],
  ['always_on', undefined],
  ['always_off', undefined],
  ['parentbased_always_on', undefined],
  ['parentbased_always_off', undefined],
  ['traceidratio', '0.25'],
  ['traceidratio', '1'],
  ['traceidratio', '0'],
  ['parentbased_traceidratio', '0.5'],
  ['parentbased_traceidratio', '2'],
  ['parentbased_traceidratio', 'nonsense'],
  ['no_such_sampler', undefined],
])('decides as the SDK does for OTEL_TRACES_SAMPLER=%s and %s', (sampler, argument) => {
  if (sampler) process.env['OTEL_TRACES_SAMPLER'] = sampler;
  if (argument) process.env['OTEL_TRACES_SAMPLER_ARG'] = argument;
  const decide = samplingDecision(sampler, argument);
  const sdk = (new BasicTracerProvider() as unknown as { _tracerOptions: { sampler: SdkSampler } })._tracerOptions
    .sampler;
  for (const parentSampled of [undefined, true, false]) {
    for (let i = 0; i < 50; i++) {
      const traceId = randomHex(16);
      const parent = {
        traceId,
        spanId: randomHex(8),
        traceFlags: parentSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
      };
      const context = parentSampled === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent);
      const expected = sdk.shouldSample(context, traceId, 'chat', 2, {}, []).decision;
      expect(decide(traceId, parentSampled)).toBe(expected === SamplingDecision.RECORD_AND_SAMPLED);
    }
  }
});

interface SdkSampler {
  shouldSample(...args: unknown[]): { decision: number };
}
