/** Makes calls with answers of 40 KB, plain and streamed, against a server of its own, and prints what it got. */
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';

const text = 'An orange is round. '.repeat(2000);
const server = createServer((request, response) => {
  let body = '';
  request
    .on('data', (chunk) => (body += chunk))
    .on('end', () => {
      if (body.includes('"stream":true')) {
        response.setHeader('content-type', 'text/event-stream');
        for (let i = 0; i < text.length; i += 4000) {
          const chunk = {
            object: 'chat.completion.chunk',
            model: 'm',
            choices: [{ index: 0, delta: { content: text.slice(i, i + 4000) } }],
          };
          response.write(`data: ${JSON.stringify(chunk)}\n\n`);
        }
        response.end('data: [DONE]\n\n');
        return;
      }
      response.setHeader('content-type', 'application/json');
      response.end(
        JSON.stringify({
          object: 'chat.completion',
          model: 'm',
          choices: [{ index: 0, message: { role: 'assistant', content: text } }],
        }),
      );
    });
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
for (let i = 0; i < 12; i++) {
  const response = await fetch(`http://127.0.0.1:${server.address().port}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', stream: i % 2 === 1, messages: [{ role: 'user', content: `call ${i}` }] }),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  console.log(i, response.status, createHash('sha256').update(bytes).digest('hex'));
}
server.close();
