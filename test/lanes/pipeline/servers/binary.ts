/** Where the servers' binaries are. */
import { existsSync } from 'node:fs';
import { type ServerName, serverBinary } from '../../../servers/build.mjs';

/** Path of a server's binary; fails with what to do where it has not been built. */
export function binaryOf(name: ServerName): string {
  const path = serverBinary(name);
  if (path === undefined || !existsSync(path)) {
    throw new Error(`${name} is not built: run \`npm run servers:build\` (needs Go; a few minutes, once)`);
  }
  return path;
}
