// What the platform does beside the program, against answers, timers and each other: the order is printed, and goes into requests.
import { createReadStream, readFile } from 'node:fs';
import { open, readFile as read, stat, writeFile } from 'node:fs/promises';
import { pbkdf2, randomBytes, webcrypto } from 'node:crypto';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { gunzip, gzip } from 'node:zlib';

const base = process.env.OPENAI_BASE_URL;
const headers = { authorization: `Bearer ${process.env.OPENAI_API_KEY}`, 'content-type': 'application/json' };
const ask = async (content) => {
  const body = JSON.stringify({ model: 'orange-1', messages: [{ role: 'user', content }] });
  const answer = await fetch(`${base}/chat/completions`, { method: 'POST', headers, body });
  return (await answer.json()).choices[0].message.content.length;
};
await writeFile('notes.txt', 'one\ntwo\nthree\n'.repeat(3000));
const handle = await open('notes.txt');

let said = 'nothing';
for (let round = 0; round < 8; round++) {
  const order = [];
  const as = (name, promise) => promise.then(() => order.push(name));
  await Promise.all([
    as('read', read('notes.txt', 'utf8')),
    as('stat', stat('notes.txt')),
    as('handle', handle.read(Buffer.alloc(10), 0, 10, 0)),
    as('callback', new Promise((resolve) => readFile('notes.txt', resolve))),
    as('gzip', new Promise((resolve) => gzip(Buffer.alloc(100_000), resolve))),
    as('key', new Promise((resolve) => pbkdf2('a', 'b', 2000 * (round + 1), 32, 'sha256', resolve))),
    as('random', new Promise((resolve) => randomBytes(16, resolve))),
    as('digest', webcrypto.subtle.digest('SHA-256', new Uint8Array(100_000))),
    as('timer', pause(round)),
    as('answer', ask(`round ${round}, before: ${said}`)),
  ]);
  said = order.join(' ');
  console.log(said);
}
await handle.close();
await new Promise((resolve) => {
  gunzip(Buffer.from('this is no gzip'), (error) => resolve(console.log(error.code)));
});

const lines = [];
const asked = ask('while lines are read').then((size) => lines.push(`answer ${size > 0}`));
for await (const line of createInterface({ input: createReadStream('notes.txt', { highWaterMark: 1000 }) })) {
  if (line === 'three' && lines.length < 200) lines.push(line);
}
await asked;
console.log(lines.join(' '));
try {
  await read('no-such-file.txt');
} catch (error) {
  console.log(error.code, error.syscall, error.message);
}
