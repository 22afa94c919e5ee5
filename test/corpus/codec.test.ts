/** The codec against recorded traffic; skipped, and said so, where the recordings are not at hand. */
import { createHash } from 'node:crypto';
import { confirmBody, ConversationIndex, describeCall, recogniseRequest, ToolJoins } from '@orangebox/codec';
import { describe, expect, test } from 'vitest';
import { hasCorpus, loadCorpus } from './load.mjs';
import { confusion } from './recognition.mjs';
import { runSdkViews } from './sdk-views.mjs';
import { checkSessions, expectedSessions, type RecordedSession, sendingOrder, unmaskIds } from './sessions.mjs';
import { decodeContent, exchangeOf } from './views.mjs';

const sha256 = (data: Uint8Array | string): string => createHash('sha256').update(data).digest('hex');

describe.skipIf(!hasCorpus())('recorded traffic', () => {
  test('is recognised where it calls a model, and only there', () => {
    const { table, wrong } = confusion(loadCorpus(), { recogniseRequest, confirmBody });
    expect(wrong).toEqual([]);
    expect(Object.values(table.inference).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(2000);
  });

  test('of the OpenAI APIs is read as the official SDK reads it', { timeout: 180_000 }, async () => {
    const { rows, different, refused } = await runSdkViews(loadCorpus(), describeCall);
    expect(different.map(({ id }) => id)).toEqual([]);
    const total = [...rows.values()].reduce((sum, row) => sum + row.exchanges, 0);
    const refusals = [...refused.values()].flat().length;
    expect(total).toBeGreaterThan(1000);
    expect(refusals / total).toBeLessThan(0.05);
  });

  test.each([1, 20])('gives the recorded sessions and tool results, %i at a time', (width) => {
    const sessions = expectedSessions(loadCorpus());
    unmaskIds(sessions);
    const result = inferred(sessions, width);
    expect(result.mergedWrongly).toEqual([]);
    // Nothing but order tells calls apart here; two recordings are the same byte for byte.
    expect(result.togetherRight / result.linkedSessions).toBeGreaterThanOrEqual(width === 1 ? 1 : 0.99);
    expect(result.toolResultsJoined / result.toolResults).toBeGreaterThanOrEqual(width === 1 ? 1 : 0.99);
  });
});

function inferred(sessions: RecordedSession[], width: number): ReturnType<typeof checkSessions> {
  const index = new ConversationIndex({ sha256 });
  const joins = new Map<string, ToolJoins>();
  const sessionOf = new Map<number, string>();
  const joined: { callId: string; n: number; askedBy: number }[] = [];
  for (const line of sendingOrder(sessions, width)) {
    const { call, request, response } = describeCall({ exchanges: [exchangeOf(line)] }, decodeContent);
    const place = { target: `${line.request.origin}${line.request.path} ${call.requestModel ?? ''}` };
    const found = index.match(request, place);
    const session = found.kind === 'continues' ? found.call.session : `session ${line.n}`;
    const tools = joins.get(session) ?? new ToolJoins();
    joins.set(session, tools);
    for (const { result, askedBy } of tools.answer(request)) {
      joined.push({ callId: result.callId ?? '', n: line.n, askedBy: Number(askedBy) });
    }
    tools.ask(String(line.n), response.toolCalls);
    index.add({ id: String(line.n), session, ...place }, request, response);
    sessionOf.set(line.n, session);
  }
  return checkSessions(sessions, sessionOf, joined);
}
