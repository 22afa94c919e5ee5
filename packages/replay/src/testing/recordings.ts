/** Recorded calls for tests, made as the recorder makes them. Not part of the package's surface. */
import type { Snapshot } from '@orangebox/schema';
import { createMemoryStore, type SnapshotStore } from '@orangebox/store';
import { type TestAttempt, type TestCall, TestSegments } from '../../../store/src/testing/write-segments.ts';

export type { TestAttempt, TestCall };

/** The snapshot of a call with one attempt. */
export function recorded(attempt: TestAttempt = {}, call: TestCall = {}): Snapshot {
  return recordedCall({ ...call, attempts: [attempt] });
}

/** The snapshot of a call. */
export function recordedCall(call: TestCall): Snapshot {
  return new TestSegments('/nowhere').call(call);
}

/** A store in memory with snapshots. */
export async function storeWith(...snapshots: Snapshot[]): Promise<SnapshotStore> {
  const store = createMemoryStore();
  for (const snapshot of snapshots) await store.put(snapshot);
  return store;
}

/** A streamed chat answer, as a provider frames it. */
export function chatStream(...deltas: string[]): string {
  const frame = (delta: object, finish: string | null): string =>
    `data: ${JSON.stringify({
      id: 'chatcmpl-9',
      object: 'chat.completion.chunk',
      created: 1_764_500_000,
      model: 'gpt-4o-mini',
      choices: [{ index: 0, delta, finish_reason: finish }],
    })}\n\n`;
  const frames = deltas.map((content) => frame({ content }, null));
  return `${frame({ role: 'assistant', content: '' }, null)}${frames.join('')}${frame({}, 'stop')}data: [DONE]\n\n`;
}

/** Bytes cut into pieces of a size, also inside characters. */
export function pieces(data: string | Uint8Array, size: number): Uint8Array[] {
  const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data;
  const out: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size) out.push(bytes.slice(at, at + size));
  return out;
}
