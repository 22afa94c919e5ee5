import { expect, it } from 'vitest';
import { compare, compareResent } from './compare.ts';
import { recorded, storeWith } from './testing/recordings.ts';

const answer = (content: string, id: string): string =>
  JSON.stringify({
    id,
    object: 'chat.completion',
    created: Number(id.slice(-1)),
    model: 'gpt-4o',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
  });

it('two calls that differ in ids and times are identical, in words equivalent, in structure different', async () => {
  const a = recorded({ response: [answer('Hello', 'c-1')] });
  const b = recorded({ response: [answer('Hello', 'c-2')] });
  const c = recorded({ response: [answer('Good day', 'c-3')] });
  const d = recorded({ status: 429, response: ['{"error":{"message":"slow down"}}'] });
  const store = await storeWith(a, b);
  expect((await compare(a.id, b.id, { store })).verdict).toBe('identical');
  expect((await compare(a, c)).verdict).toBe('equivalent');
  expect((await compare(a, d)).verdict).toBe('different');
});

it('resent calls are compared with the recording and among themselves', () => {
  const calls = ['Hello', 'Hello', 'Good day'].map((text, i) => ({
    snapshot: recorded({ response: [answer(text, `c-${i}`)] }),
  }));
  const plan = { method: 'POST', url: '', bodySizeBytes: 0, n: 3, renewed: [], dropped: [], effects: [] };
  const original = recorded({ response: [answer('Hello', 'c-9')] });
  const result = compareResent({ plan, original, calls });
  expect(result.againstRecording).toEqual({ identical: 2, equivalent: 1, different: 0 });
  expect(result.noiseFloor).toEqual({ identical: 1, equivalent: 2, different: 0 });
  expect(compareResent({ plan, original, calls: calls.slice(0, 1) }).noiseFloor).toBeUndefined();
});
