/** Tests of a program, for `node --test`. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { mock, test } from 'node:test';
import { pathToFileURL } from 'node:url';

const require = createRequire(new URL('../../../../programs/transparency/package.json', import.meta.url));
const { default: OpenAI } = await import(pathToFileURL(require.resolve('openai')).href);
const request = { model: 'gpt-test', messages: [{ role: 'user', content: 'hello' }] };

test('an answer', async () => {
  const answer = await new OpenAI().chat.completions.create(request);
  assert.equal(answer.object, 'chat.completion');
});

test('fetch mocked', async () => {
  const mocked = mock.method(globalThis, 'fetch', async () => Response.json({ object: 'mocked' }));
  const answer = await new OpenAI({ fetch: globalThis.fetch }).chat.completions.create(request);
  assert.equal(answer.object, 'mocked');
  assert.equal(mocked.mock.callCount(), 1);
  mocked.mock.restore();
});

test('timers mocked', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'] });
  const answer = await new OpenAI({ timeout: 5_000 }).chat.completions.create(request);
  assert.equal(answer.object, 'chat.completion');
  assert.equal(Date.now(), 0);
});

test('a test that fails', () => assert.equal(1, 2));
