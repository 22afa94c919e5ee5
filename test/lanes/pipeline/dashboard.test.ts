/**
 * The dashboard against the real Prometheus: it scrapes the collector and the archiver while the example agent runs, and then every
 * query has an answer with data in it.
 */
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { queriesOf, readDashboard } from '../../deploy/dashboard-file.ts';
import { inRepository } from '../../helpers/repository.ts';
import { pipeline, type Pipeline } from './pipeline.ts';
import { binaryOf, cleanEnvironment, freePort } from './servers/index.ts';

/** A sample of an instant query. */
interface Sample {
  metric: Record<string, string>;
  value: [time: number, value: string];
}

const register = inRepository('packages/orangebox/dist/register.cjs');
const queries = queriesOf(readDashboard(), '20s');

describe('the dashboard', () => {
  let running: Pipeline;
  let directory: string;
  const ends: (() => void)[] = [];

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'orangebox-dashboard-'));
    running = await pipeline('collector', { prometheus: true, archiverArgs: ['--metrics-public'] });
    const port = await freePort();
    const program = (args: string[], env: Record<string, string>): void => {
      const child = spawn(process.execPath, args, { cwd: directory, env: cleanEnvironment(env), stdio: 'ignore' });
      ends.push(() => child.kill('SIGKILL'));
    };
    program([inRepository('deploy/example-agent/provider.mjs')], { PORT: String(port), HOST: '127.0.0.1' });
    program(['--require', register, inRepository('deploy/example-agent/agent.mjs')], {
      ...running.programEnv,
      ORANGEBOX_DIR: join(directory, 'recordings'),
      OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`,
      OPENAI_API_KEY: 'sk-example-not-a-real-key',
      OTEL_SERVICE_NAME: 'example-agent',
      OTEL_METRIC_EXPORT_INTERVAL: '1000',
      OTEL_METRIC_EXPORT_TIMEOUT: '900',
      OTEL_BSP_SCHEDULE_DELAY: '500',
      AGENT_PAUSE_MS: '100',
    });
  });

  afterAll(async () => {
    for (const end of ends) end();
    await running?.stop();
    if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
  });

  async function ask(expr: string): Promise<Sample[]> {
    const url = `${running.prometheus?.url}/api/v1/query?query=${encodeURIComponent(expr)}`;
    const answer = (await (await fetch(url)).json()) as { status: string; error?: string; data: { result: Sample[] } };
    expect(answer.status, `${expr}: ${answer.error}`).toBe('success');
    return answer.data.result;
  }

  /** The answer once it has a number in it: rates need two scrapes, and spans a batch of the collector's. */
  async function askUntilNumbers(expr: string): Promise<number[]> {
    const deadline = Date.now() + 60_000;
    for (;;) {
      const numbers = (await ask(expr)).map(({ value }) => Number(value[1]));
      if (numbers.some(Number.isFinite) || Date.now() > deadline) return numbers;
      await wait(250);
    }
  }

  it('has queries', () => {
    expect(queries.length).toBeGreaterThan(30);
  });

  it.each(queries)('has an answer for "$title": $expr', async ({ expr }) => {
    const numbers = await askUntilNumbers(expr);
    expect(numbers.filter(Number.isFinite).length).toBeGreaterThan(0);
  });

  it('counts calls, tokens and snapshots of the agent that runs', async () => {
    const positive = async (expr: string): Promise<void> => {
      const deadline = Date.now() + 30_000;
      let sum = 0;
      while (sum <= 0 && Date.now() < deadline) {
        sum = (await ask(expr)).reduce((total, { value }) => total + Number(value[1]), 0);
        if (sum <= 0) await wait(250);
      }
      expect(sum, expr).toBeGreaterThan(0);
    };
    for (const model of ['orange-1', 'orange-1-mini']) {
      const by = `gen_ai_request_model="${model}", gen_ai_operation_name="chat"`;
      await positive(`rate(gen_ai_calls_total{${by}}[20s])`);
      await positive(`rate(gen_ai_client_operation_duration_seconds_count{${by}}[20s])`);
      await positive(`rate(gen_ai_client_token_usage_sum{${by}, gen_ai_token_type="input"}[20s])`);
      await positive(`rate(gen_ai_client_token_usage_sum{${by}, gen_ai_token_type="output"}[20s])`);
      await positive(
        `rate(gen_ai_client_operation_time_to_first_chunk_seconds_count{gen_ai_request_model="${model}"}[20s])`,
      );
    }
    // Each seventh request is refused by the example's provider.
    await positive('rate(gen_ai_calls_total{status_code="STATUS_CODE_ERROR"}[20s])');
    await positive('rate(orangebox_recorder_sent_total[20s])');
    await positive('rate(orangebox_archiver_payloads_total{outcome="stored"}[20s])');
  });

  it('lets its model variable find the models', async () => {
    const url = `${running.prometheus?.url}/api/v1/label/gen_ai_request_model/values?match[]=gen_ai_calls_total`;
    const answer = (await (await fetch(url)).json()) as { data: string[] };
    expect(answer.data).toEqual(expect.arrayContaining(['orange-1', 'orange-1-mini']));
  });
});

describe('the deployed settings', () => {
  it('are a scrape configuration that promtool takes', async () => {
    const { stdout } = await promisify(execFile)(binaryOf('promtool'), [
      'check',
      'config',
      inRepository('deploy/prometheus/prometheus.yml'),
    ]);
    expect(stdout).toContain('is valid prometheus config file syntax');
  });
});
