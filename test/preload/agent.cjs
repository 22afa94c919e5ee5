/**
 * What each program of the preload matrix does: a plain chat, a streamed one, embeddings and a response, three of them in
 * spans of its own where it has OpenTelemetry. Prints what it got, without what differs from run to run.
 */
async function run({ OpenAI, trace, setUp }) {
  if (process.env.TEST_SETUP === 'after') setUp();
  const client = new OpenAI({ apiKey: 'sk-test-key', baseURL: `${process.env.TEST_PROVIDER_URL}/v1` });
  const within = trace
    ? (name, work) =>
        trace.getTracer('app').startActiveSpan(name, async (span) => {
          try {
            return await work();
          } finally {
            span.end();
          }
        })
    : (_name, work) => work();
  const messages = [{ role: 'user', content: 'Say something.' }];
  const results = [];

  await within('plain', async () => {
    const answer = await client.chat.completions.create({ model: 'gpt-4o-mini', messages });
    results.push([answer.object, answer.choices[0].message.content, answer.usage.total_tokens]);
  });
  await within('streamed', async () => {
    const stream = await client.chat.completions.create({
      model: 'gpt-4o-mini',
      messages,
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = '';
    for await (const chunk of stream) text += chunk.choices[0]?.delta?.content ?? '';
    results.push(['stream', text]);
  });
  await within('embedded', async () => {
    const answer = await client.embeddings.create({ model: 'text-embedding-3-small', input: 'two words' });
    results.push([answer.object, answer.data.length, answer.usage.total_tokens]);
  });
  const answer = await client.responses.create({ model: 'gpt-4o-mini', input: 'Say something.' });
  results.push([answer.object, answer.output_text, answer.usage.total_tokens]);

  process.stdout.write(`${JSON.stringify(results)}\n`);
  await globalThis.stopTracing?.();
}

module.exports = { run };
