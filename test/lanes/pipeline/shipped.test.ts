/** A program that knows nothing of Orangebox through each shipped configuration: spans without payloads in Jaeger, payloads in the store. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AgentRun, bodyTexts, runAgent } from './agent-run.ts';
import { attributeOf, type JaegerTrace, tracesOf } from './jaeger-answers.ts';
import { type ConfigName, type Pipeline, pipeline } from './pipeline.ts';
import { bucketOf, documentOf, objectNames, readKey, storedDocument } from './stored-objects.ts';

const configs: ConfigName[] = ['collector', 'one-port', 'queue', 'inline', 'file'];

describe.each(configs)('%s.yaml', (config) => {
  let servers: Pipeline;
  let run: AgentRun;
  let traces: JaegerTrace[];

  beforeAll(async () => {
    servers = await pipeline(config, config === 'file' ? {} : { token: 'token-of-the-lane' });
    run = await runAgent(servers.programEnv);
    traces = await tracesOf(servers.jaeger, run.calls);
  });
  afterAll(async () => {
    run?.remove();
    await servers?.stop();
  });

  it('the program does what it does without', () => {
    expect([run.code, run.stderr]).toEqual([0, '']);
    expect(run.stdout).toContain('user: Thanks! Say it once more as a postcard to Anna.');
    expect(run.calls.filter(({ snapshot }) => snapshot.kind === 'llm').length).toBeGreaterThanOrEqual(3);
    expect(run.calls.filter(({ snapshot }) => snapshot.kind === 'tool').length).toBeGreaterThanOrEqual(2);
  });

  it("Jaeger's API returns call and tool spans with the key of their snapshot", () => {
    const spans = traces.flatMap((trace) => trace.spans);
    expect(spans.map(({ spanId }) => spanId).sort()).toEqual(run.calls.map(({ snapshot }) => snapshot.id).sort());
    for (const { entry, snapshot } of run.calls) {
      const span = spans.find(({ spanId }) => spanId === snapshot.id);
      expect(attributeOf(span, 'gen_ai.operation.name')).toBe(snapshot.kind === 'tool' ? 'execute_tool' : 'chat');
      expect(attributeOf(span, 'orangebox.snapshot.key')).toBe(entry.key);
      expect(attributeOf(span, 'orangebox.snapshot.digest')).toBe(snapshot.digest);
      expect(span?.parentSpanId).toBe(snapshot.trace.parentSpanId);
    }
  });

  it('no payload is anywhere in what Jaeger returns', () => {
    const texts = bodyTexts(run.calls);
    expect(texts.length).toBeGreaterThan(5);
    for (const { raw } of traces) {
      for (const text of [...texts, '"orangebox.snapshot"', 'orangebox.snapshot.body', 'orangebox.part', 'H4sI']) {
        expect(raw).not.toContain(text);
      }
    }
  });

  it('every snapshot is in the store under its key, byte for byte, and nothing else is', async () => {
    const bucket = bucketOf(servers);
    try {
      for (const { entry, snapshot } of run.calls) {
        const key = entry.key as string;
        await expect.poll(() => readKey(bucket, key), { timeout: 20_000 }).toBeDefined();
        // The views of a snapshot are made anew by every reader.
        expect(await readKey(bucket, key)).toMatchObject({ digest: snapshot.digest, exchanges: snapshot.exchanges });
        if (config !== 'file') expect(await storedDocument(bucket, key)).toEqual(await documentOf(snapshot));
      }
      const object = config === 'file' ? 'traces.binpb' : 'snapshot.json.gz';
      expect(await objectNames(bucket)).toEqual(run.calls.map(({ entry }) => `${entry.key}/${object}`).sort());
    } finally {
      await bucket.close();
    }
  });

  it('the collector refused and dropped nothing', async () => {
    const metrics = await (await fetch(servers.collector.telemetryUrl)).text();
    const counted = metrics
      .split('\n')
      .filter((line) =>
        /^otelcol_(receiver_refused|receiver_failed|exporter_send_failed|exporter_enqueue_failed)/.test(line),
      );
    expect(counted.filter((line) => !line.endsWith(' 0'))).toEqual([]);
  });
});
