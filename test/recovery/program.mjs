/** Makes plain calls, then a streamed one that its server holds open; says what it has seen, and waits to be killed. */
const base = process.env.TEST_SERVER_URL;
const post = (body) =>
  fetch(`${base}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer sk-test-secret-of-the-program' },
    body: JSON.stringify({ model: 'gpt-test', ...body }),
  });

for (let i = 0; i < Number(process.env.TEST_CALLS ?? 1); i++) {
  const response = await post({ messages: [{ role: 'user', content: `call ${i}` }] });
  await response.text();
}
process.stdout.write('called\n');
// What comes on standard input is one more call each.
let typed = 0;
process.stdin.on('data', async () => {
  const response = await post({ messages: [{ role: 'user', content: `typed ${typed++}` }] });
  await response.text();
  process.stdout.write(`typed ${typed}\n`);
});
if (process.env.TEST_STREAM !== 'no') {
  const streamed = await post({ stream: true, messages: [{ role: 'user', content: 'stream' }] });
  const reader = streamed.body.getReader();
  await reader.read();
  // The segment has what came in this turn when the next one begins.
  setImmediate(() => setImmediate(() => process.stdout.write('streaming\n')));
  await reader.read();
}
