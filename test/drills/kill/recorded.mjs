/** What is on record in a directory, by the ids of the calls. */
import { existsSync } from 'node:fs';
import { decodeBody } from '@orangebox/codec';
import { openStore } from '@orangebox/store';

/** Problems that a death explains: a write that was cut short. */
const OF_A_DEATH = new Set(['OBX_SEGMENT_TORN']);

/** Everything on record: `calls` by id as lists of `{spanId, status, ending, fidelity, bytes}`, and what could not be read. */
export async function readRecorded(dir) {
  const calls = new Map();
  const unreadable = [];
  // No program came to a call.
  if (!existsSync(dir)) return { calls, unreadable, torn: 0 };
  let torn = 0;
  const store = await openStore(dir);
  try {
    for await (const entry of store.list({ order: 'oldest' })) {
      let snapshot;
      try {
        snapshot = await store.load(entry);
      } catch (error) {
        unreadable.push(`${entry.trace.spanId}: ${error.code ?? error.name} ${error.message}`);
        continue;
      }
      const { request, response, ending } = snapshot.exchanges[0];
      const id =
        request.headers.find(([name]) => name.toLowerCase() === 'x-call')?.[1] ?? `(no head) ${entry.trace.spanId}`;
      const bytes = response?.body ? Buffer.from(decodeBody(response.body)).toString() : '';
      const { status, fidelity, trace } = entry;
      const known = { spanId: trace.spanId, key: entry.key, status, ending, fidelity, bytes };
      calls.set(id, [...(calls.get(id) ?? []), known]);
    }
    for (const { code, message, location } of await store.problems()) {
      if (OF_A_DEATH.has(code)) torn += 1;
      else unreadable.push(`${location}: ${code} ${message}`);
    }
  } finally {
    await store.close();
  }
  return { calls, unreadable, torn };
}
