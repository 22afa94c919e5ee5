import { buildToolSnapshot } from '@orangebox/codec';
import { afterEach, describe, expect, it } from 'vitest';
import { sha256Hex } from './sha256.ts';
import {
  answer,
  chatRequest,
  chatResponse,
  openExchange,
  play,
  type TestRecorder,
  testRecorder,
} from './testing/scripted-exchange.ts';
import type { WrappedToolRun } from './wire-events.ts';

let box: TestRecorder;
afterEach(() => box.dispose());

const user = { role: 'user', content: 'weather?' };
const asks = [
  { id: 'call_1', name: 'weather', arguments: '{"city":"Paris"}' },
  { id: 'call_2', name: 'weather', arguments: '{"city":"Rome"}' },
];
const asked = {
  role: 'assistant',
  content: null,
  tool_calls: asks.map((call) => ({
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: call.arguments },
  })),
};
const results = asks.map((call, i) => ({ role: 'tool', tool_call_id: call.id, content: `${20 + i} degrees` }));

const asking = { requestChunks: [chatRequest([user])], responseChunks: [chatResponse(null, asks)] };
const answering = { requestChunks: [chatRequest([user, asked, ...results])] };

function run(name: string, args: unknown[], more: Partial<WrappedToolRun> = {}): WrappedToolRun {
  const trace = { traceId: 'e'.repeat(32), spanId: 'f'.repeat(16) };
  const start = 1_800_000_000_500_000_000n;
  return {
    name,
    args,
    context: { scope: [], place: undefined },
    startUnixNano: start,
    endUnixNano: start + 1000n,
    result: { ok: true },
    trace,
    ...more,
  };
}

describe('tool executions read from the next request', () => {
  it('have name, arguments, result, times and place of the call that asked', () => {
    box = testRecorder();
    play(box.recorder, asking);
    play(box.recorder, answering);
    const { calls, tools, process } = box.finish();
    const [first, second] = calls;
    expect(tools.map((t) => t.tool)).toEqual(
      asks.map((call, i) => ({
        basis: 'inferred',
        name: 'weather',
        callId: call.id,
        arguments: call.arguments,
        result: `${20 + i} degrees`,
        askedBy: first?.trace.spanId,
      })),
    );
    expect(tools[0]?.time).toEqual({ startUnixNano: first?.time.endUnixNano, endUnixNano: second?.time.startUnixNano });
    expect(tools[0]?.trace).toMatchObject({ traceId: first?.trace.traceId, parentSpanId: first?.trace.spanId });
    expect(tools[0]?.session).toEqual(first?.session);
    expect(tools[0]?.spans).toMatchObject([{ name: 'execute_tool weather' }]);
    expect(buildToolSnapshot(tools[0]!, process!, sha256Hex).digest).toBe(tools[0]?.digest);
    expect(tools[0]?.key).toContain(tools[0]?.trace.spanId);
  });

  it('are told once, however often the history is sent again', () => {
    box = testRecorder();
    play(box.recorder, asking);
    play(box.recorder, { ...answering, responseChunks: [chatResponse('fine')] });
    const more = [user, asked, ...results, { role: 'assistant', content: 'fine' }, { role: 'user', content: 'and?' }];
    play(box.recorder, { requestChunks: [chatRequest(more)] });
    expect(box.finish().tools).toHaveLength(2);
  });
});

describe('tool functions that were seen to run', () => {
  it('are joined to the asked call by name and arguments, and not told twice', () => {
    box = testRecorder();
    play(box.recorder, asking);
    box.recorder.tool(run('weather', [{ city: 'Rome' }], { result: '21 degrees' }));
    play(box.recorder, answering);
    const { tools, calls } = box.finish();
    expect(tools.map((t) => [t.tool.basis, t.tool.callId, t.tool.result])).toEqual([
      ['wrapped', 'call_2', '21 degrees'],
      ['inferred', 'call_1', '20 degrees'],
    ]);
    expect(tools[0]?.tool.askedBy).toBe(calls[0]?.trace.spanId);
    expect(tools[0]?.session).toEqual(calls[0]?.session);
    expect(tools[0]?.trace).toEqual({
      traceId: calls[0]?.trace.traceId,
      spanId: 'f'.repeat(16),
      parentSpanId: calls[0]?.trace.spanId,
      sampled: true,
    });
  });

  it('wait for a call that asks for them while it still streams', () => {
    box = testRecorder();
    const exchange = openExchange(box.recorder, asking);
    box.recorder.tool(run('weather', [{ city: 'Paris' }], { startUnixNano: 1_900_000_000_000_000_000n }));
    answer(exchange, asking);
    play(box.recorder, answering);
    expect(box.finish().tools.map((t) => [t.tool.basis, t.tool.callId])).toEqual([
      ['wrapped', 'call_1'],
      ['inferred', 'call_2'],
    ]);
  });

  it('keep their own trace when calls inside already name it', () => {
    box = testRecorder();
    play(box.recorder, asking);
    const trace = { traceId: 'e'.repeat(32), spanId: 'f'.repeat(16) };
    play(box.recorder, { context: { parent: trace } });
    box.recorder.tool(run('weather', [{ city: 'Paris' }], { trace }));
    expect(box.finish().tools[0]?.trace).toMatchObject(trace);
  });

  it('are recorded when nobody asked, with their error, secrets replaced', () => {
    box = testRecorder({ TOOL_SECRET: 'the-secret-of-the-tool' });
    const error = new Error('refused the-secret-of-the-tool');
    const circular: { self?: unknown } = {};
    circular.self = circular;
    box.recorder.tool(
      run('lookup', [circular, 'the-secret-of-the-tool'], {
        error,
        context: { scope: [], place: undefined, session: { id: 's' } },
      }),
    );
    const [tool] = box.finish().tools;
    expect(tool?.tool.basis).toBe('wrapped');
    expect(tool?.error?.message).toMatch(/^refused \{\{secret:/);
    expect(JSON.stringify(tool)).not.toContain('the-secret-of-the-tool');
    expect(tool?.session).toMatchObject({ id: 's', basis: 'declared' });
  });

  it('leave arguments and results nowhere at level metadata', () => {
    box = testRecorder({ ORANGEBOX_LEVEL: 'metadata' });
    play(box.recorder, asking);
    play(box.recorder, answering);
    box.recorder.tool(run('lookup', ['an argument'], { result: 'a result' }));
    const { tools } = box.finish();
    expect(tools.map(({ tool }) => tool.name)).toEqual(['weather', 'weather', 'lookup']);
    for (const word of ['Paris', 'degrees', 'an argument', 'a result'])
      expect(JSON.stringify(tools)).not.toContain(word);
  });

  it('take no number of their session: calls alone are counted', () => {
    box = testRecorder();
    const context = { scope: [], place: undefined, session: { id: 's' } };
    box.recorder.tool(run('lookup', [], { context }));
    play(box.recorder, { context });
    box.recorder.tool(run('lookup', [], { context }));
    play(box.recorder, { context });
    const { calls } = box.finish();
    expect(calls.map((call) => call.session?.seq)).toEqual([0, 1]);
  });
});
