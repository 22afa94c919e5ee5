/** One call; then the program goes on until an export is under way, and tells how long its end took from there. */
const { writeSync } = require('node:fs');

async function main() {
  const response = await fetch(`${process.env.TEST_PROVIDER_URL}/openai/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer sk-test-key' },
    body: JSON.stringify({ model: 'gpt-test', messages: [{ role: 'user', content: 'Say something.' }] }),
  });
  await response.text();
  // The test ends the waiting: it sees the export arrive.
  await new Promise((resolve) => process.stdin.once('data', resolve));
  process.stdin.destroy();
  const startMs = performance.now();
  process.on('exit', () => writeSync(1, `${Math.round(performance.now() - startMs)}\n`));
}

void main();
