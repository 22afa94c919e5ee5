import { expect, it } from 'vitest';
import { SecretKeeper } from './secrets.ts';

it('finds secrets that come into the environment later, looking at it once a second', () => {
  const env: Record<string, string> = {};
  let now = 0;
  const keeper = new SecretKeeper(
    [],
    () => env,
    () => now,
  );
  env['LATE_API_KEY'] = 'loaded-by-dotenv-later';
  const text = 'key: loaded-by-dotenv-later.';
  expect(keeper.redactor().text(text).text).toBe(text);
  now = 1000;
  expect(keeper.redactor().text(text).text).toMatch(/^key: \{\{secret:[^}]*LATE_API_KEY[^}]*\}\}\.$/);
});

it('keeps tokens of a process equal for equal values', () => {
  const keeper = new SecretKeeper([], () => ({ A_TOKEN: 'one-secret-of-many' }), Date.now);
  const first = keeper.redactor().text('one-secret-of-many').text;
  expect(keeper.redactor().text('x one-secret-of-many').text).toBe(`x ${first}`);
});
