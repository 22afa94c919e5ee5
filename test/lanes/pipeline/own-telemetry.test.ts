/** A program with OpenTelemetry of its own: its spans and the calls in one trace, whichever way its payloads take. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AgentRun, bodyTexts, runAgent } from './agent-run.ts';
import { attributeOf, type JaegerTrace, tracesOf } from './jaeger-answers.ts';
import { type ConfigName, type Pipeline, pipeline } from './pipeline.ts';
import { bucketOf, readKey } from './stored-objects.ts';

const configs: ConfigName[] = ['collector', 'inline'];

describe.each(configs)('%s.yaml', (config) => {
  let servers: Pipeline;
  let run: AgentRun;
  let traces: JaegerTrace[];

  beforeAll(async () => {
    servers = await pipeline(config);
    run = await runAgent(servers.programEnv, 'otel');
    traces = await tracesOf(servers.jaeger, run.calls);
  });
  afterAll(async () => {
    run?.remove();
    await servers?.stop();
  });

  it('the program does what it does without', () => {
    expect([run.code, run.stderr]).toEqual([0, '']);
    expect(run.calls).toHaveLength(4);
  });

  it("calls stand below the application's spans", () => {
    const spans = traces.flatMap((trace) => trace.spans);
    for (const name of ['plain', 'streamed', 'embedded']) {
      const own = spans.find((span) => span.name === name);
      const call = spans.find((span) => span.parentSpanId === own?.spanId);
      expect(attributeOf(call, 'orangebox.snapshot.key')).toMatch(/^v1\//);
    }
  });

  it('no payload is anywhere in what Jaeger returns, and each is in the store', async () => {
    const texts = bodyTexts(run.calls);
    expect(texts.length).toBeGreaterThan(1);
    for (const { raw } of traces) {
      for (const text of [...texts, '"orangebox.snapshot"', 'orangebox.snapshot.body', 'H4sI']) {
        expect(raw).not.toContain(text);
      }
    }
    const bucket = bucketOf(servers);
    for (const { entry, snapshot } of run.calls) {
      const stored = () => readKey(bucket, entry.key as string);
      await expect.poll(async () => (await stored())?.digest, { timeout: 20_000 }).toBe(snapshot.digest);
    }
    await bucket.close();
  });
});
