import { describe, expect, it } from 'vitest';
import { type AnswerServer, answerServer } from '../testing/answer-server.ts';
import { jaegerTraces, tempoResourceSpans } from '../testing/trace-answers.ts';
import { createJaegerSource } from './jaeger-source.ts';
import { createTempoSource } from './tempo-source.ts';

const HOUR = { sinceUnixMs: Date.UTC(2026, 10, 29), untilUnixMs: Date.UTC(2026, 10, 29, 1) };
const SERVICES = { body: { services: Array.from({ length: 200 }, (_, i) => `service-${i}`) } };

/** Tempo that knows a thousand traces in every stretch of time, each another one, and gives each slowly. */
function endlessTempo(): Promise<AnswerServer> {
  let next = 0;
  return answerServer(({ path }) => {
    if (path === '/api/search') {
      const ids = Array.from({ length: 1000 }, () => (next += 1).toString(16).padStart(32, '0'));
      return { body: { traces: ids.map((traceID) => ({ traceID })), metrics: {} } };
    }
    const traceId = path.slice(path.lastIndexOf('/') + 1);
    const spans = JSON.parse(
      JSON.stringify(tempoResourceSpans()).replaceAll(/"traceId":"[^"]+"/g, `"traceId":"${traceId}"`),
    );
    return (response) => void setTimeout(() => response.end(JSON.stringify({ trace: { resourceSpans: spans } })), 10);
  });
}

describe('the time of a whole search', () => {
  it('ends one in Tempo that always has another trace, with those that came', async () => {
    const server = await endlessTempo();
    const { spans, truncated } = await createTempoSource({ url: server.url, searchMs: 400 }).search(HOUR);
    expect(truncated).toBe(true);
    expect(spans.length).toBeGreaterThan(0);
    expect(server.asked.length).toBeLessThan(1000);
  });

  it('ends one in Jaeger whose answers never end, also in the middle of one', async () => {
    let answers = 0;
    const server = await answerServer(({ path }) => {
      if (path === '/api/v3/services') return SERVICES;
      answers += 1;
      if (answers <= 4) return { body: jaegerTraces() };
      return (response) => void response.write('{"data":[');
    });
    const { spans, truncated } = await createJaegerSource({ url: server.url, searchMs: 400 }).search(HOUR);
    expect(truncated).toBe(true);
    expect(spans.length).toBeGreaterThan(0);
    expect(server.asked.length).toBeLessThan(20);
  });

  it('bounds a single trace too, whose answer is then none', async () => {
    const { url } = await answerServer(() => (response) => void response.write('{'));
    for (const source of [createJaegerSource({ url, searchMs: 100 }), createTempoSource({ url, searchMs: 100 })]) {
      await expect(source.trace('a'.repeat(32))).rejects.toMatchObject({ code: 'OBX_SOURCE_UNREACHABLE' });
    }
  });
});
