/** An agent that acts: shell commands of every kind, a database that nobody has, questions in between. */
import { exec, execFile, execFileSync, execSync, spawn, spawnSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import net from 'node:net';
import { promisify } from 'node:util';
import OpenAI from 'openai';

const client = new OpenAI();
const log = process.argv[2];
// What differs each time, and leaves a trace where a process really ran.
const stamp = `date +%N; echo ran >> ${log}`;
const ask = async (content) => {
  const { choices } = await client.chat.completions.create({
    model: 'orange-1',
    messages: [{ role: 'user', content }],
  });
  console.log(choices[0].message.content);
};
const closed = (child) => new Promise((resolve) => child.on('close', (...end) => resolve(end)));

const { stdout } = await promisify(exec)(`echo hello; ${stamp}; echo bad >&2`);
await ask(`It said ${stdout}`);
const cat = spawn('sh', ['-c', `cat; ${stamp}; exit 3`]);
let out = '';
cat.stdout.on('data', (bytes) => {
  out += bytes;
});
cat.stdin.end('fed');
console.log(await closed(cat), out);
console.log(execSync(stamp, { encoding: 'utf8' }), spawnSync('sh', ['-c', `(${stamp}) >&2; exit 2`]).status);
for (const fail of [
  () => execFileSync('sh', ['-c', `(${stamp}) >&2; exit 4`], { stdio: 'pipe' }),
  () => execSync('no-such-command-here'),
  () => execFileSync('no-such-program-here'),
]) {
  try {
    fail();
  } catch (error) {
    console.log(error.status, error.code, error.message);
  }
}
const [error] = await new Promise((resolve) => spawn('no-such-program-here').on('error', (...e) => resolve(e)));
console.log(error.code, error.message, error.syscall);
await closed(spawn('sh', ['-c', `echo inherited; ${stamp}`], { stdio: 'inherit' }));
// What it writes straight to the program's output is not on record.
execSync(`(${stamp}) >/dev/null`, { stdio: 'inherit' });
const run = (i) => promisify(execFile)('sh', ['-c', `echo ${i}; ${stamp}`]).then((result) => result.stdout);
const all = await Promise.all([1, 2, 3].map(run));
const child = await promisify(execFile)(process.execPath, ['-e', 'console.log(Math.random())']);
await ask(`All of them: ${all.join()} ${child.stdout}`);
const database = net.connect(59998, '127.0.0.1');
await new Promise((resolve) => database.on('error', resolve));
appendFileSync(log, 'the program itself\n');
