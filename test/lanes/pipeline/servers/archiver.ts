/** The archiver: the built `orangebox archive`. */
import { fileURLToPath } from 'node:url';
import { freePort } from './ports.ts';
import { type Environment, type RunningServer, serverDirectory, startServer } from './process.ts';

const CLI = fileURLToPath(new URL('../../../../packages/orangebox/dist/cli.mjs', import.meta.url));

/**
 * Starts the archiver.
 * @param env where it stores (`ORANGEBOX_STORE`, `AWS_*`) and its token, if any
 * @param args more arguments of `orangebox archive`
 */
export async function startArchiver(env: Environment, args: readonly string[] = []): Promise<RunningServer> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  return startServer({
    name: 'archiver',
    directory: serverDirectory('archiver'),
    command: process.execPath,
    args: [CLI, 'archive', '--listen', `127.0.0.1:${port}`, ...args],
    env,
    url,
    readyUrl: `${url}/healthz`,
  });
}
