/** A program that asks its model twice, plain and streamed. */
const { OPENAI_BASE_URL, OPENAI_API_KEY } = process.env;

async function ask(stream) {
  const response = await fetch(`${OPENAI_BASE_URL}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${OPENAI_API_KEY}` },
    body: JSON.stringify({ model: 'm', stream, messages: [{ role: 'user', content: 'Hello' }] }),
  });
  return (await response.text()).length;
}

async function main() {
  console.log(`answers of ${await ask(false)} and ${await ask(true)} characters`);
}

void main();
