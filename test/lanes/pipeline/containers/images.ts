/** Images of the container lane, all made here: nothing is pulled. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { runtimeFolders } from '../../../../deploy/image.mjs';
import { inRepository } from '../../../helpers/repository.ts';
import type { ServerName } from '../../../servers/build.mjs';
import { binaryOf } from '../servers/binary.ts';

const BASE = 'orangebox-lane/node:local';

const docker = (...args: string[]): string => execFileSync('docker', args, { encoding: 'utf8' });
const exists = (tag: string): boolean =>
  spawnSync('docker', ['image', 'inspect', tag], { stdio: 'ignore' }).status === 0;

/** An image from scratch that holds one of the servers and nothing else; made anew when its binary is another one. */
export function serverImage(name: ServerName): string {
  const binary = binaryOf(name);
  const tag = `orangebox-lane/${name}:${basename(dirname(binary)).replace(`${name}-`, '')}`;
  if (exists(tag)) return tag;
  const pipe = 'tar -C "$1" --owner=0 --group=0 --mode=755 -c "$2" | docker import -c "$3" - "$4"';
  const entrypoint = `ENTRYPOINT ["/${name}"]`;
  execFileSync('sh', ['-c', pipe, 'sh', dirname(binary), name, entrypoint, tag], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  return tag;
}

/** A base with this machine's Node.js. */
export function nodeImage(): string {
  execFileSync('sh', [inRepository('test/lanes/pipeline/containers/node-image.sh'), BASE], { stdio: 'ignore' });
  return BASE;
}

/**
 * A build context for `deploy/Dockerfile` that is installed and built already, so that the build itself needs neither npm nor a
 * network: the same files that the build would make from the repository.
 */
export function stageContext(): string {
  const directory = mkdtempSync(join(tmpdir(), 'orangebox-context-'));
  const copy = (path: string): void => {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    cpSync(inRepository(path), join(directory, path), {
      recursive: true,
      dereference: true,
      filter: (file) => !/\.(d\.[cm]?ts|map)$/.test(file),
    });
  };
  for (const path of ['package.json', 'package-lock.json', 'deploy/Dockerfile', 'deploy/image.mjs']) copy(path);
  const lock = JSON.parse(readFileSync(inRepository('package-lock.json'), 'utf8')) as object;
  for (const { source, link } of runtimeFolders(lock)) {
    if (!link) copy(source);
    else for (const part of ['package.json', 'dist']) copy(`${source}/${part}`);
  }
  // It is there even if the lock had nothing but links: the build looks for it to know that all is installed.
  mkdirSync(join(directory, 'node_modules'), { recursive: true });
  return directory;
}

/** What an image is run as: user and labels, as its configuration says. */
export function imageConfig(tag: string): { User: string; Healthcheck?: { Test: string[] }; Entrypoint: string[] } {
  return JSON.parse(docker('image', 'inspect', '--format', '{{json .Config}}', tag)) as ReturnType<typeof imageConfig>;
}
