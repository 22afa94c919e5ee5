import { expect, it } from 'vitest';
import { parseJson } from './json.ts';

const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;

it('takes nesting that nothing could follow for no JSON', () => {
  expect(parseJson(nested(100_000))).toBeUndefined();
  expect(parseJson(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`)).toBeUndefined();
  expect(JSON.stringify(parseJson(nested(500)))).toBe(nested(500));
});

it('counts no brackets within strings, and none that follow one another', () => {
  const texts = ['['.repeat(5000), `\\${'{'.repeat(5000)}`, `${'\\"['.repeat(5000)}\\`];
  for (const text of texts) expect(parseJson(JSON.stringify([text, { a: text }]))).toEqual([text, { a: text }]);
  expect(parseJson(`[${'[[]],'.repeat(5000)}0]`)).toHaveLength(5001);
  expect(parseJson(`${'['.repeat(2000)}"`)).toBeUndefined();
});
