/** Metrics of calls as a real Prometheus has them: what programs measure themselves, and what their spans tell. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AgentRun, runAgent } from './agent-run.ts';
import { documentedMetrics } from './documented.ts';
import { type Pipeline, pipeline } from './pipeline.ts';
import { lines, queryNow } from './prometheus-answers.ts';
import type { RunningServer } from './servers/index.ts';

let servers: Pipeline;
let prometheus: RunningServer;
const runs: AgentRun[] = [];

beforeAll(async () => {
  servers = await pipeline('collector', { prometheus: true });
  prometheus = servers.prometheus as RunningServer;
  const env = { ...servers.programEnv, OTEL_SERVICE_NAME: 'travel-agent' };
  runs.push(...(await Promise.all([runAgent(env), runAgent(env)])));
});
afterAll(async () => {
  for (const run of runs) run.remove();
  await servers?.stop();
});

/** The calls of both programs. */
const calls = () => runs.flatMap((run) => run.calls).filter(({ snapshot }) => snapshot.kind === 'llm');
const usage = (which: 'inputTokens' | 'outputTokens'): number =>
  calls().reduce((sum, { entry }) => sum + (entry.summary?.[which] ?? 0), 0);
/** Until what was sent at the programs' end is scraped. */
const eventually = <T>(query: () => Promise<T>) => expect.poll(query, { timeout: 30_000, interval: 500 });

it('the programs ran', () => {
  expect(runs.map(({ code, stderr }) => [code, stderr])).toEqual([
    [0, ''],
    [0, ''],
  ]);
});

describe('the gen_ai client metrics that the programs sent', () => {
  it('count operations by model and operation, of all processes of a service', async () => {
    await eventually(() =>
      lines(
        prometheus,
        'sum by (gen_ai_operation_name, gen_ai_request_model) (gen_ai_client_operation_duration_seconds_count)',
      ),
    ).toEqual([`chat orange-1: ${calls().length}`]);
  });

  it('are histograms that quantiles can be asked of', async () => {
    const [p95] = await queryNow(
      prometheus,
      'histogram_quantile(0.95, sum by (le) (gen_ai_client_operation_duration_seconds_bucket))',
    );
    expect(p95?.value).toBeGreaterThan(0);
    expect(p95?.value).toBeLessThan(60);
  });

  it('sum tokens by type, the same as stand in the recordings', async () => {
    await eventually(() =>
      lines(prometheus, 'sum by (gen_ai_request_model, gen_ai_token_type) (gen_ai_client_token_usage_sum)'),
    ).toEqual([`orange-1 input: ${usage('inputTokens')}`, `orange-1 output: ${usage('outputTokens')}`]);
    expect(usage('outputTokens')).toBeGreaterThan(0);
  });

  it('tell the time to the first chunk of streams', async () => {
    await eventually(() => lines(prometheus, 'sum(gen_ai_client_operation_time_to_first_chunk_seconds_count)')).toEqual(
      [': 2'],
    );
  });
});

describe("the recorders' own health", () => {
  it('is there with what was recorded, process by process', async () => {
    await eventually(() =>
      lines(prometheus, 'sum by (orangebox_snapshot_kind) (orangebox_recorder_recorded_total)'),
    ).toEqual([`llm: ${calls().length}`, `tool: ${runs.flatMap((run) => run.calls).length - calls().length}`]);
    expect(await lines(prometheus, 'count(orangebox_recorder_recorded_total{orangebox_snapshot_kind="llm"})')).toEqual([
      ': 2',
    ]);
  });

  it('has every metric that docs/pipeline.md tells operators to look at', async () => {
    const named = documentedMetrics(/\borangebox_recorder_[a-z_]+/g);
    expect(named.length).toBeGreaterThan(1);
    for (const name of named) expect([name, await lines(prometheus, `count(${name})`)]).toEqual([name, [': 2']]);
  });
});

describe('the metrics that the collector makes of spans', () => {
  it('have duration histograms by model and operation', async () => {
    await eventually(() =>
      lines(
        prometheus,
        'sum by (gen_ai_operation_name, gen_ai_request_model) (gen_ai_duration_milliseconds_count{gen_ai_operation_name="chat"})',
      ),
    ).toEqual([`chat orange-1: ${calls().length}`]);
    const [p95] = await queryNow(
      prometheus,
      'histogram_quantile(0.95, sum by (le) (gen_ai_duration_milliseconds_bucket))',
    );
    expect(p95?.value).toBeGreaterThan(0);
  });

  it('name the provider, and tools by their operation', async () => {
    const providers = 'count by (gen_ai_provider_name) (gen_ai_calls_total{gen_ai_request_model="orange-1"})';
    await eventually(() => lines(prometheus, providers)).toEqual(['openai: 1']);
    await eventually(() =>
      lines(prometheus, 'count by (gen_ai_operation_name) (gen_ai_calls_total{gen_ai_operation_name="execute_tool"})'),
    ).toEqual(['execute_tool: 2']);
  });

  it('are of model and tool calls only', async () => {
    const others = await fetch(`${servers.collector.metadataUrl}/v1/traces`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        resourceSpans: [
          { scopeSpans: [{ spans: [{ traceId: '7'.repeat(32), spanId: '7'.repeat(16), name: 'GET /' }] }] },
        ],
      }),
    });
    expect(others.status).toBe(200);
    const filtered = 'otelcol_processor_filter_spans_filtered{filter="filter/gen_ai"}';
    await eventually(() => lines(prometheus, `sum(${filtered})`)).toEqual([': 1']);
    expect(await queryNow(prometheus, 'gen_ai_calls_total{gen_ai_operation_name=""}')).toEqual([]);
  });
});

it('the collector and the archiver are scraped themselves', async () => {
  await eventually(() => lines(prometheus, 'sum by (job) (up)')).toEqual(['archiver: 1', 'collector: 1', 'spans: 1']);
  const sent = 'otelcol_exporter_sent_spans{exporter="otlp_http/archiver"}';
  await eventually(() => lines(prometheus, `sum(${sent})`)).toEqual([`: ${runs.flatMap((run) => run.calls).length}`]);
});
