import type { Message, RequestView, ToolCall } from '@orangebox/schema';
import { describe, expect, test } from 'vitest';
import { ToolJoins } from './tool-joins.ts';

const asked = (id: string | undefined, name: string, args = '{}'): ToolCall => ({
  ...(id === undefined ? {} : { id }),
  name,
  arguments: args,
  type: 'function',
});
const turn = (...calls: ToolCall[]): Message => ({ role: 'assistant', toolCalls: calls });
const result = (callId: string | undefined, content: string, name?: string): Message => ({
  role: 'tool',
  toolResult: { ...(callId === undefined ? {} : { callId }), ...(name === undefined ? {} : { name }), content },
});
const request = (...messages: Message[]): RequestView => ({ messages });
const pairs = (joins: ToolJoins, view: RequestView): [string, string, string][] =>
  joins.answer(view).map(({ result: { content }, call, askedBy }) => [content, call.name, askedBy]);

describe('tool results', () => {
  test('are joined by id, each once, although later requests repeat them', () => {
    const joins = new ToolJoins();
    joins.ask('call 1', [asked('a', 'f'), asked('b', 'g')]);
    const first = [turn(asked('a', 'f'), asked('b', 'g')), result('b', 'B'), result('a', 'A')];
    expect(pairs(joins, request(...first))).toEqual([
      ['B', 'g', 'call 1'],
      ['A', 'f', 'call 1'],
    ]);
    joins.ask('call 2', [asked('c', 'h')]);
    expect(pairs(joins, request(...first, turn(asked('c', 'h')), result('c', 'C')))).toEqual([['C', 'h', 'call 2']]);
    expect(joins.open).toEqual([]);
  });

  test('of ids that are used again are matched from the end', () => {
    const joins = new ToolJoins();
    joins.ask('call 1', [asked('call_0', 'f')]);
    const first = [turn(asked('call_0', 'f')), result('call_0', 'one')];
    expect(pairs(joins, request(...first))).toEqual([['one', 'f', 'call 1']]);
    joins.ask('call 2', [asked('call_0', 'g')]);
    expect(pairs(joins, request(...first, turn(asked('call_0', 'g')), result('call_0', 'two')))).toEqual([
      ['two', 'g', 'call 2'],
    ]);
    joins.ask('call 3', [asked('call_0', 'h')]);
    expect(pairs(joins, request(result('call_0', 'three')))).toEqual([['three', 'h', 'call 3']]);
  });

  test('whose id the client changed are joined by the call that the request repeats', () => {
    const joins = new ToolJoins();
    joins.ask('call 1', [asked('call_0', 'f', '{"a":1}'), asked('call_1', 'f', '{"a":2}')]);
    const view = request(turn(asked('own-2', 'f', '{ "a": 2 }')), result('own-2', 'two'), result('unknown', 'x'));
    expect(pairs(joins, view)).toEqual([['two', 'f', 'call 1']]);
    expect(joins.open.map(({ call }) => call.id)).toEqual(['call_0']);
  });

  test('without an id are joined by name and order', () => {
    const joins = new ToolJoins();
    joins.ask('call 1', [asked(undefined, 'f', '1'), asked(undefined, 'g'), asked(undefined, 'f', '2')]);
    const found = joins.answer(
      request(result(undefined, 'first', 'f'), result(undefined, 'G', 'g'), result(undefined, 'second', 'f')),
    );
    expect(found.map(({ result: { content }, call }) => [content, call.name, call.arguments])).toEqual([
      ['first', 'f', '1'],
      ['G', 'g', '{}'],
      ['second', 'f', '2'],
    ]);
  });

  test('of tools that ran at the provider are not waited for', () => {
    const joins = new ToolJoins();
    joins.ask('call 1', [{ id: 'ws', name: 'web_search', arguments: '', type: 'web_search_call' }]);
    expect(joins.open).toEqual([]);
  });
});
