/** A small agent for replays that are set up wrongly: three requests, a line of output, a file. `serve` listens and waits to be asked. */
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';

const url = `${process.env.OPENAI_BASE_URL}/chat/completions`;
const headers = { 'content-type': 'application/json', authorization: `Bearer ${process.env.OPENAI_API_KEY}` };
const ask = async (content) => {
  const body = JSON.stringify({ model: 'orange-1', messages: [{ role: 'user', content }] });
  const answer = await fetch(url, { method: 'POST', headers, body });
  return (await answer.json()).choices[0].message.content;
};
if (process.argv[2] === 'idle') process.exit(0);
if (process.argv[2] === 'serve' && process.env.PORT_FILE) {
  const server = createServer((_, answer) => answer.end('here')).listen(0, '127.0.0.1', () => {
    writeFileSync(process.env.PORT_FILE, String(server.address().port));
  });
  await new Promise((resolve) => server.once('connection', resolve));
}
const answers = [];
for (const city of ['Lisbon', 'Oslo', 'Riga'])
  answers.push(await ask(`What of ${city}, ${process.env.TONE ?? 'briefly'}?`));
writeFileSync('answers.txt', answers.join('\n'));
console.log(answers.length, 'answers');
if (process.argv[2] === 'serve') process.exit();
