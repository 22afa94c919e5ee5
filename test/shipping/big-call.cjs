// One call whose request holds 30 MiB that do not compress well, as images do.
const { randomBytes } = require('node:crypto');

async function main() {
  const image = randomBytes(Number(process.env.TEST_IMAGE_BYTES)).toString('base64');
  const answer = await fetch(`${process.env.TEST_PROVIDER_URL}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer sk-test-key' },
    body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: image }] }),
  });
  process.stdout.write(`${(await answer.json()).object}\n`);
}

main();
