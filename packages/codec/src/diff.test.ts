import type { Json, Snapshot, ToolExecution } from '@orangebox/schema';
import { describe, expect, test } from 'vitest';
import { compareSnapshots } from './diff.ts';
import { sseOf, testExchange, type TestExchange } from './testing.ts';

const snapshot = (parts: TestExchange): Snapshot =>
  ({ kind: 'llm', exchanges: [testExchange(parts)] }) as unknown as Snapshot;
const compare = (left: TestExchange, right: TestExchange): ReturnType<typeof compareSnapshots> =>
  compareSnapshots(snapshot(left), snapshot(right), () => undefined);

const request = { model: 'm', messages: [{ role: 'user', content: 'q' }], temperature: 0 };
const answer = (message: Json, more: { [key: string]: Json } = {}): TestExchange => ({
  request,
  response: {
    id: 'a',
    created: 1,
    model: 'm-1',
    system_fingerprint: 'f',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1 },
    ...more,
  },
});
const calls = (args: string, name = 'f', id = 'c1'): Json => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name, arguments: args } }],
});

describe('compareSnapshots', () => {
  test('finds no difference in ids, times, fingerprints, usage and reasoning', () => {
    const left = answer({ role: 'assistant', content: 'x', reasoning_content: 'hm' });
    const right = answer(
      { role: 'assistant', content: 'x', reasoning_content: 'well' },
      { id: 'b', created: 2, system_fingerprint: 'g', usage: { prompt_tokens: 9 } },
    );
    expect(compare(left, right)).toEqual({ verdict: 'identical', differences: [] });
  });

  test('finds a streamed answer and its equal identical', () => {
    const chunk = (content: string, finish: string | null = null): Json => ({
      id: String(Math.random()),
      object: 'chat.completion.chunk',
      model: 'm-1',
      choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason: finish }],
    });
    const stream = (...pieces: string[]): TestExchange => ({
      request,
      responseType: 'text/event-stream',
      response: sseOf([...pieces.map((piece) => chunk(piece)), chunk('', 'stop')]),
    });
    expect(compare(stream('ab', 'c'), stream('a', 'bc')).verdict).toBe('identical');
    expect(compare(stream('ab'), stream('ax')).differences).toEqual([
      { path: 'response.choices[0].message.text', left: 'ab', right: 'ax', rank: 'text' },
    ]);
  });

  test('compares tool executions by name, arguments and outcome', () => {
    const run = (tool: Partial<ToolExecution>): Snapshot =>
      ({ kind: 'tool', exchanges: [], tool: { basis: 'wrapped', name: 'f', ...tool } }) as unknown as Snapshot;
    const differ = (left: Snapshot, right: Snapshot): string[] =>
      compareSnapshots(left, right, () => undefined).differences.map(({ path, rank }) => `${rank} ${path}`);
    const well = run({ arguments: '{"a":1,"b":2}', result: '3' });
    const failed = run({ arguments: '{"a":1}', error: { stage: 'done', type: 'Error', message: 'no' } });
    expect(differ(well, run({ arguments: '{"b":2,"a":1}', result: '3' }))).toEqual([]);
    expect(differ(well, run({ arguments: '{"a":1,"b":2}', result: '4' }))).toEqual(['text tool.result']);
    expect(differ(well, failed)).toEqual(['tools tool.arguments.b', 'structure tool.error', 'structure tool.result']);
    expect(differ(well, snapshot(answer('x')))).toContain('tools tool.name');
  });

  test('calls other words equivalent, and says where', () => {
    const { verdict, differences } = compare(
      answer({ role: 'assistant', content: 'x' }),
      answer({ role: 'assistant', content: 'y' }),
    );
    expect(verdict).toBe('equivalent');
    expect(differences).toEqual([{ path: 'response.choices[0].message.text', left: 'x', right: 'y', rank: 'text' }]);
  });

  test('compares tool arguments as JSON, and puts tools first', () => {
    expect(compare(answer(calls('{"a":1,"b":2}')), answer(calls('{ "b": 2, "a": 1 }', 'f', 'c2'))).verdict).toBe(
      'identical',
    );
    const { verdict, differences } = compare(
      { ...answer(calls('{"a":1}')), status: 200 },
      answer({
        role: 'assistant',
        content: 'text',
        tool_calls: [{ id: 'x', function: { name: 'g', arguments: '{"a":2}' } }],
      }),
    );
    expect(verdict).toBe('different');
    expect(differences.slice(0, 2).map(({ path, rank }) => [path, rank])).toEqual([
      ['response.choices[0].message.toolCalls[0].name', 'tools'],
      ['response.choices[0].message.toolCalls[0].arguments.a', 'tools'],
    ]);
    expect(differences[2]).toMatchObject({ path: 'response.choices[0].message.text', rank: 'structure' });
  });

  test('compares answers that are JSON by their members', () => {
    const json = (value: Json): TestExchange => answer({ role: 'assistant', content: JSON.stringify(value) });
    expect(compare(json({ a: 1, b: 'x' }), json({ b: 'y', a: 1 }))).toMatchObject({
      verdict: 'equivalent',
      differences: [{ path: 'response.choices[0].message.text.b' }],
    });
    expect(compare(json({ a: 1 }), json({ a: '1' })).verdict).toBe('different');
    expect(compare(json({ a: 1 }), json({ a: 1, c: 2 })).verdict).toBe('different');
  });

  test('sees other requests, statuses, finish reasons and members that no adapter knows', () => {
    const left = answer({ role: 'assistant', content: 'x' });
    expect(compare(left, { ...left, request: { ...request, temperature: 1 } }).differences).toMatchObject([
      { path: 'call.parameters.temperature', rank: 'structure' },
    ]);
    expect(
      compare(left, { ...left, request: { ...request, messages: [{ role: 'user', content: 'other' }] } }).verdict,
    ).toBe('equivalent');
    expect(
      compare(left, { ...left, status: 429, response: { error: { message: 'no', type: 't' } } }).differences.map(
        ({ path }) => path,
      ),
    ).toContain('response.status');
    expect(compare(left, answer({ role: 'assistant', content: 'x' }, { citations: ['a'] })).differences).toMatchObject([
      { path: 'response.final.citations', rank: 'structure' },
    ]);
  });

  test('gives vectors of one text some tolerance', () => {
    const vectors = (last: number): TestExchange => ({
      url: 'https://a.test/v1/embeddings',
      request: { model: 'e', input: 'x' },
      response: { data: [{ embedding: [0.1, last] }] },
    });
    expect(compare(vectors(0.2), vectors(0.200001)).verdict).toBe('identical');
    expect(compare(vectors(0.2), vectors(0.3)).differences).toMatchObject([
      { path: 'response.embeddings[0]', rank: 'text' },
    ]);
  });
});
