/** Makes no LLM call, but other traffic. */
await (
  await fetch(`${process.argv[2]}/v1/orders`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"a":1}',
  })
).text();
console.log('done');
