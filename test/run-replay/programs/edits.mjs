/** An agent that edits files: by itself, by the shell and by git; and tells all that it saw. */
import { execFileSync, execSync, spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import OpenAI from 'openai';

const client = new OpenAI();
const ask = async (content) => {
  const { choices } = await client.chat.completions.create({
    model: 'orange-1',
    messages: [
      { role: 'system', content: `You work in ${process.cwd()}` },
      { role: 'user', content },
    ],
  });
  console.log(choices[0].message.content);
  return choices[0].message.content;
};
const git = (...args) => execFileSync('git', args, { encoding: 'utf8' });
const closed = (child) => new Promise((resolve) => child.on('close', (...end) => resolve(end)));
const show = (file) =>
  console.log(`${file}: ${existsSync(file) ? JSON.stringify(readFileSync(file, 'utf8')) : 'none'}`);

console.log(`in ${process.cwd()}, of ${fileURLToPath(import.meta.url)}`);
console.log(
  readdirSync('.')
    .filter((name) => name !== 'node_modules' && name !== '.orangebox')
    .join(),
);
show('notes.txt');
await ask(`Notes: ${readFileSync('notes.txt', 'utf8')}`);

git('init', '--quiet', '--initial-branch', 'main');
git('config', 'user.email', 'agent@example.org');
git('config', 'user.name', 'Agent');
console.log(existsSync('.git'), readFileSync('.git/HEAD', 'utf8'));
writeFileSync('.gitignore', 'node_modules\n.orangebox\n');
git('add', '.');
git('commit', '--quiet', '-m', 'As it was');

// What the program writes itself, with a value that is another each time it really runs.
mkdirSync('out');
writeFileSync('out/made.json', JSON.stringify({ at: Date.now(), id: crypto.randomUUID(), cwd: process.cwd() }));
appendFileSync('notes.txt', 'third\n');
await writeFile('moved.txt', 'moved');
await rename('moved.txt', 'out/moved.txt');

// What only a child process changes: one that is waited for, and one that is not.
execSync(
  'sed -i s/first/FIRST/ notes.txt; echo made > by-sh.txt; mkdir empty; chmod +x by-sh.txt; rm gone.txt; date +%N > now.txt',
);
show('notes.txt');
show('by-sh.txt');
show('gone.txt');
show('now.txt');
const patch = git('diff');
console.log(patch);
writeFileSync('change.patch', patch.replaceAll('third', 'fourth'));
git('checkout', '--', 'notes.txt', 'gone.txt');
show('notes.txt');
show('gone.txt');
git('apply', 'change.patch');
show('notes.txt');
const child = spawn('sh', ['-c', 'cat > stdin.txt; mkdir -p a/b; pwd > a/b/where.txt; pwd; ln -s stdin.txt link']);
let out = '';
child.stdout.on('data', (bytes) => (out += bytes));
child.on('exit', () => show('stdin.txt'));
child.stdin.end(`from ${process.cwd()}`);
console.log(await closed(child), out.trim() === process.cwd(), out);
show('link');
console.log(readFileSync('a/b/where.txt', 'utf8').trim() === process.cwd());
// The program goes on with what a child left.
writeFileSync(join('empty', 'full.txt'), readFileSync('now.txt'));
rmSync('by-sh.txt');
git('add', '.');
console.log(git('status', '--short'));
console.log(git('rev-parse', '--show-toplevel').trim() === process.cwd());
// A model names a file by the path that it was told: its answer is on record, and so is the directory of then.
const told = /write (\S+)\.”/.exec(await ask(`write ${join(process.cwd(), 'told.txt')}.`))?.[1] ?? 'none';
writeFileSync(told, 'as told');
show('told.txt');
await ask(
  `Done in ${process.cwd()}: ${readdirSync('.', { recursive: true })
    .filter((name) => /^(?!\.|node_modules)/.test(name))
    .sort()
    .join()}`,
);
process.stderr.write(`at ${process.cwd().slice(0, 3)}`);
process.stderr.write(`${process.cwd().slice(3)}\n`);
process.exitCode = 3;
