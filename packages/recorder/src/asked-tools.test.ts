import type { RequestView, SessionRef, ToolCall } from '@orangebox/schema';
import { expect, it } from 'vitest';
import { AskedTools, type AskingCall } from './asked-tools.ts';

const sessionOf = (id: string): SessionRef => ({ id, seq: 0, basis: 'declared' });

function asking(session: SessionRef): AskingCall {
  const trace = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), sampled: true };
  return { trace, session, scope: [], model: undefined, endUnixNano: 0n };
}

function writesFile(id: string, chars: number): ToolCall {
  return { id, name: 'write_file', arguments: JSON.stringify({ text: 'x'.repeat(chars) }), type: 'function' };
}

function bringing(callId: string): RequestView {
  return { messages: [{ role: 'tool', toolResult: { callId, content: 'written' } }] };
}

it('forgets the sessions that were quiet longest once their arguments are too much to hold', () => {
  const tools = new AskedTools();
  const mib = 1024 * 1024;
  for (let i = 0; i < 20; i++) tools.ask([writesFile(`call_of_${i}`, mib)], asking(sessionOf(`s${i}`)));
  expect(tools.answer(bringing('call_of_0'), sessionOf('s0'))).toEqual([]);
  expect(tools.answer(bringing('call_of_19'), sessionOf('s19'))).toMatchObject([{ content: 'written' }]);
  const run = { name: 'write_file', traceId: 'c'.repeat(32), sessionId: 's1', argumentTexts: [] };
  expect(tools.takeForRun({ ...run, argumentTexts: [writesFile('', mib).arguments] })?.by.session?.id).not.toBe('s1');
});

it('goes on after one answer that alone is too much', () => {
  const tools = new AskedTools();
  const session = sessionOf('s');
  tools.ask([writesFile('huge', 20 * 1024 * 1024)], asking(session));
  tools.ask([writesFile('next', 10)], asking(session));
  expect(tools.answer(bringing('huge'), session)).toEqual([]);
  expect(tools.answer(bringing('next'), session)).toMatchObject([{ content: 'written' }]);
});
