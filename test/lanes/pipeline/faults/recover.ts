/** `orangebox recover`, as an operator runs it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { inRepository } from '../../../helpers/repository.ts';
import { cleanEnvironment } from '../servers/index.ts';

/** How it ended, and what it said. */
export interface Recovered {
  code: number | null;
  output: string;
}

/** Recovers a directory whose programs have ended. */
export async function recover(directory: string, env: Readonly<Record<string, string>>): Promise<Recovered> {
  const cli = inRepository('packages/orangebox/dist/cli.mjs');
  const child = spawn(process.execPath, [cli, 'recover', directory, '--timeout', '300s'], {
    env: cleanEnvironment(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}
