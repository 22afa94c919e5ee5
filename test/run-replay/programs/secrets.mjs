/** Carries secrets through child processes, then through requests: the placements of the drill of secrets. Arguments as of that program. */
import { execFileSync, execSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const { children, program } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const echo = ['-e', 'process.stdin.pipe(process.stdout); console.error(process.argv[1])'];
for (const [i, value] of children.entries()) {
  if (i % 4 === 0) execFileSync(process.execPath, [...echo, value], { input: `in ${value}`, stdio: 'pipe' });
  else if (i % 4 === 1) execSync(`printf %s ${value}`);
  else if (i % 4 === 2) execFileSync('printf', ['%s', `key=${value}`]);
  else {
    const child = spawn(process.execPath, [...echo, value], { env: { ...process.env, HANDED_ON: value } });
    child.stdin.end(`in ${value}`);
    for (const stream of [child.stdout, child.stderr]) stream.resume();
    await once(child, 'close');
  }
}
await import(pathToFileURL(program));
console.log('carried');
