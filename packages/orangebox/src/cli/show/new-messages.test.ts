import type { Message, Snapshot } from '@orangebox/schema';
import { describe, expect, it } from 'vitest';
import { newSince } from './new-messages.ts';

const user = (text: string): Message => ({ role: 'user', text });
const answer = (text: string): Message => ({ role: 'assistant', text });
const asks = (...ids: string[]): Message => ({
  role: 'assistant',
  toolCalls: ids.map((id) => ({ id, name: 't', arguments: '{}' })),
});
const result = (callId: string): Message => ({ role: 'tool', toolResult: { callId, content: 'r' } });

function call(id: string, messages: Message[], out: Message, extra: object = {}): Snapshot {
  const response = {
    id: `resp_${id}`,
    choices: [{ index: 0, message: out }],
    toolCalls: out.toolCalls ?? [],
    finishReasons: [],
  };
  return { id, request: { messages, ...extra }, response } as unknown as Snapshot;
}

describe('what is new since the call before', () => {
  const first = call('1', [user('a')], asks('x', 'y'));
  const second = call('2', [user('a'), asks('x', 'y'), result('x'), result('y')], answer('b'));
  const third = call('3', [user('a'), asks('x', 'y'), result('x'), result('y'), answer('b'), user('c')], answer('d'));

  it('is everything in the first call', () => {
    expect(newSince(first, [])).toEqual({ seen: 0, messages: [user('a')] });
  });

  it('leaves out the earlier messages and the earlier answer', () => {
    expect(newSince(second, [first])).toMatchObject({
      seen: 2,
      messages: [result('x'), result('y')],
      continues: { id: '1' },
    });
    expect(newSince(third, [first, second])).toMatchObject({ seen: 5, messages: [user('c')], continues: { id: '2' } });
  });

  it('takes an answer that came back as several messages', () => {
    const split = call('2', [user('a'), asks('x'), asks('y'), result('x'), result('y')], answer('b'));
    expect(newSince(split, [first])).toMatchObject({ seen: 3, messages: [result('x'), result('y')] });
  });

  it('is everything in a call that goes on from none of the earlier ones', () => {
    const other = call('9', [user('z'), asks('q'), result('q')], answer('w'));
    expect(newSince(other, [first, second])).toEqual({ seen: 0, messages: other.request?.messages });
  });

  it('is the whole request where the provider keeps the conversation', () => {
    const next = call('4', [result('x')], answer('e'), { previousResponseId: 'resp_1' });
    expect(newSince(next, [first])).toMatchObject({ seen: 0, messages: [result('x')], continues: { id: '1' } });
  });

  it('skips an assistant message of the program’s own that the earlier call did not give', () => {
    const made = call('2', [user('a'), asks('other'), result('other')], answer('b'));
    expect(newSince(made, [first])).toMatchObject({ seen: 1, messages: [asks('other'), result('other')] });
  });
});
