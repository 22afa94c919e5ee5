/** Without OpenTelemetry a turn of an agent is one trace, and turns that run at the same time are as many. */
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ReceivedSpan } from './helpers/otlp-receiver.mjs';
import { inRepository } from './helpers/repository.ts';
import { type RecordedRun, requestText, responseText, runRecorded } from './endings/recorded.ts';
import { CALLS, startTurnProvider, TOOLS } from './traces/provider.mjs';

const program = inRepository('test/traces/program.mjs');
let provider: Awaited<ReturnType<typeof startTurnProvider>>;

beforeAll(async () => {
  provider = await startTurnProvider();
});
afterAll(async () => {
  await provider.close();
});

/** One conversation as the provider counted it: its calls and tool executions in their order. */
interface Turn {
  calls: ReceivedSpan[];
  tools: ReceivedSpan[];
}

/** Spans that were sent, by the conversation that the bytes of their snapshots belong to. */
function turnsOf({ snapshots, sent }: RecordedRun): Turn[] {
  expect(sent.map((span) => span.spanId).sort()).toEqual(snapshots.map(({ id }) => id).sort());
  const turns = new Map<string, Turn>();
  for (const { id, kind, exchanges, tool } of snapshots) {
    const bytes = exchanges.map((exchange) => requestText(exchange) + responseText(exchange)).join('');
    const names = [...`${bytes}${tool?.callId ?? ''}`.matchAll(/\bcall_(\d+)_/g)].map(([, n]) => n ?? '');
    // The bytes of a call speak of one conversation only, or the test itself has mixed them.
    expect(new Set(names).size).toBe(1);
    const name = names[0] ?? '';
    const turn = turns.get(name) ?? { calls: [], tools: [] };
    turns.set(name, turn);
    (kind === 'tool' ? turn.tools : turn.calls).push(sent.find((span) => span.spanId === id)!);
  }
  return [...turns.values()];
}

/**
 * All spans of each turn in one trace, each turn in its own; calls as `parentOf` says, tools beneath who asked or, where a
 * wrapped one has a parent of its own, beside the calls.
 */
function expectTraces(
  turns: Turn[],
  count: number,
  parentOf: (turn: Turn, call: number) => string | undefined,
  toolsBeneathCalls = true,
): void {
  expect(turns.map(({ calls, tools }) => [calls.length, tools.length])).toEqual(Array(count).fill([CALLS, TOOLS]));
  const traces = turns.map(({ calls, tools }) => [...new Set([...calls, ...tools].map((span) => span.traceId))]);
  expect(traces.map((ids) => ids.length)).toEqual(Array(count).fill(1));
  expect(new Set(traces.flat()).size).toBe(count);
  for (const turn of turns) {
    expect(turn.calls.map((span) => span.parentSpanId)).toEqual(turn.calls.map((_, i) => parentOf(turn, i)));
    // The third call asked for two.
    const asking = [0, 1, 2, 2, 3, 4, 5].map((i) => (toolsBeneathCalls ? turn.calls[i]?.spanId : parentOf(turn, i)));
    expect(turn.tools.map((span) => span.parentSpanId).sort()).toEqual(asking.sort());
  }
}

const beneathFirst = ({ calls }: Turn, i: number): string | undefined => (i === 0 ? undefined : calls[0]?.spanId);
const run = (way: string, count: number): Promise<RecordedRun> =>
  runRecorded(program, { args: [way, `${provider.url}/v1`, String(count)] });

describe.each([1, 20])('%i turns at a time', (count) => {
  it.each([
    ['with tools that nobody wrapped', 'plain', 'inferred'],
    ['with wrapped tools', 'wrapped', 'wrapped'],
  ])('are as many traces, %s', async (_name, way, basis) => {
    const left = await run(way, count);
    expect([left.code, left.stderr]).toEqual([0, '']);
    expectTraces(turnsOf(left), count, beneathFirst);
    const bases = left.snapshots.flatMap(({ tool }) => (tool ? [tool.basis] : []));
    expect(bases).toEqual(Array(count * TOOLS).fill(basis));
  });

  it('keep their sessions, agents and steps apart', async () => {
    const left = await run('scoped', count);
    expect([left.code, left.stderr]).toEqual([0, '']);
    const turns = turnsOf(left);
    expect(turns).toHaveLength(count);
    const seen = turns.map(({ calls }) => {
      const snapshots = calls.map(({ spanId }) => left.snapshots.find(({ id }) => id === spanId)!);
      const n = Number(snapshots[0]?.metadata?.['n']);
      expect(snapshots.map(({ session, metadata }) => [session?.id, session?.basis, session?.seq, metadata])).toEqual(
        snapshots.map((_, seq) => [`session ${n}`, 'declared', seq, { n }]),
      );
      expect(snapshots.map(({ scope }) => scope.map(({ kind, name }) => `${kind} ${name}`))).toEqual(
        snapshots.map((_, i) => [`agent agent ${n}`, `step step ${i + 1}`]),
      );
      expect(new Set(snapshots.map(({ scope }) => scope[0]?.id)).size).toBe(1);
      expect(calls.map((span) => span.attributes['gen_ai.agent.name'])).toEqual(calls.map(() => `agent ${n}`));
      return n;
    });
    expect(seen.sort((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, n) => n));
    expectTraces(turns, count, beneathFirst);
  });

  it('keep agents apart that run side by side within one', async () => {
    const left = await run('nested', count);
    expect([left.code, left.stderr]).toEqual([0, '']);
    const turns = turnsOf(left);
    const paths = turns.map(({ calls }) => {
      const scopes = calls.map(({ spanId }) => left.snapshots.find(({ id }) => id === spanId)?.scope ?? []);
      expect(scopes.map((scope) => scope.map(({ kind }) => kind))).toEqual(calls.map(() => ['agent', 'agent', 'step']));
      const agents = scopes.map((scope) => `${scope[0]?.name} > ${scope[1]?.name}`);
      expect(new Set(agents).size).toBe(1);
      return agents[0];
    });
    const expected = Array.from({ length: count }, (_, n) => [`outer ${n} > left ${n}`, `outer ${n} > right ${n}`]);
    expect(paths.sort()).toEqual(expected.flat().sort());
    expectTraces(turns, 2 * count, beneathFirst);
  });
});

/** Starts the program as a server, lets `ask` send requests, and stops it. */
function serving(ask: (origin: string) => Promise<unknown>): Promise<RecordedRun> {
  return runRecorded(program, {
    args: ['server', `${provider.url}/v1`],
    onSpawn: (child) => {
      child.stdout?.once('data', (line: Buffer) => {
        const origin = `http://127.0.0.1:${Number(line.toString())}`;
        ask(origin)
          .then(() => get(`${origin}/stop`))
          .catch(() => child.kill());
      });
    },
  });
}

async function get(url: string, headers: Record<string, string> = {}, agent?: Agent): Promise<string> {
  const [response] = await once(request(url, { headers, ...(agent ? { agent } : {}) }).end(), 'response');
  let text = '';
  for await (const part of response) text += String(part);
  return text;
}

const ids = (n: number): { traceId: string; spanId: string } => ({
  traceId: `${'a'.repeat(30)}${(n + 16).toString(16)}`,
  spanId: `${'b'.repeat(14)}${(n + 16).toString(16)}`,
});
const traceparent = (n: number): Record<string, string> => ({
  traceparent: `00-${ids(n).traceId}-${ids(n).spanId}-01`,
});

describe.each([1, 20])('%i turns at a time under http.Server', (count) => {
  const all = Array.from({ length: count }, (_, n) => n);

  it.each(['/plain', '/wrapped'])('are in the traces that their requests name, %s', async (path) => {
    const left = await serving((origin) => Promise.all(all.map((n) => get(`${origin}${path}`, traceparent(n)))));
    expect([left.code, left.stderr]).toEqual([0, '']);
    const turns = turnsOf(left);
    const named = turns.map(({ calls }) => calls[0]?.traceId);
    expect([...named].sort()).toEqual(all.map((n) => ids(n).traceId));
    const inbound = new Map(all.map((n) => [ids(n).traceId, ids(n).spanId]));
    expectTraces(turns, count, ({ calls }) => inbound.get(calls[0]?.traceId ?? ''), path === '/plain');
  });

  it('are as many traces where the requests name none', async () => {
    const left = await serving((origin) => Promise.all(all.map(() => get(`${origin}/plain`))));
    expect([left.code, left.stderr]).toEqual([0, '']);
    const turns = turnsOf(left);
    expectTraces(turns, count, ({ calls }) => calls[0]?.parentSpanId);
    expect(new Set(turns.map(({ calls }) => calls[0]?.parentSpanId)).size).toBe(count);
  });
});

it('requests that come one after another on one connection are a trace each', async () => {
  const left = await serving(async (origin) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (const n of [0, 1, 2]) await get(`${origin}/plain`, traceparent(n), agent);
    agent.destroy();
  });
  const turns = turnsOf(left);
  expect(turns.map(({ calls }) => calls[0]?.traceId).sort()).toEqual([0, 1, 2].map((n) => ids(n).traceId));
  const inbound = new Map([0, 1, 2].map((n) => [ids(n).traceId, ids(n).spanId]));
  expectTraces(turns, 3, ({ calls }) => inbound.get(calls[0]?.traceId ?? ''));
});
