// Builds the servers of the pipeline lane from the Go modules pinned beside this file, into `.cache/servers/<name>-<key>/<name>`.
// The key is a digest of what the binary is made of, so a second run takes no time. `npm run servers:build [-- NAME...]`
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const root = process.env.ORANGEBOX_SERVERS_DIR ?? join(here, '../../.cache/servers');

/** How each server is made. `files` decide the cache key with the Go version and the flags. */
const servers = {
  otelcol: {
    files: ['go.mod', 'go.sum', 'builder-config.yaml'],
    async build(folder, output) {
      // The builder writes the sources; the pinned module files then decide the versions, down to the last indirect one.
      const builder = 'go.opentelemetry.io/collector/cmd/builder@v0.161.0';
      await go(folder, ['run', builder, '--config', 'builder-config.yaml', '--skip-compilation', '--skip-get-modules']);
      for (const name of ['go.mod', 'go.sum']) cpSync(join(folder, name), join(folder, 'otelcol-ocb', name));
      await go(join(folder, 'otelcol-ocb'), ['build', '-mod=readonly', ...flags, '-o', output, '.']);
    },
  },
  weed: {
    files: ['go.mod', 'go.sum'],
    build: (folder, output) =>
      go(folder, ['build', '-mod=readonly', ...flags, '-o', output, 'github.com/seaweedfs/seaweedfs/weed']),
  },
  jaeger: {
    files: ['go.mod', 'go.sum'],
    build: (folder, output) =>
      go(folder, ['build', '-mod=readonly', ...flags, '-o', output, 'github.com/jaegertracing/jaeger/cmd/jaeger']),
  },
};
const flags = ['-trimpath', '-ldflags', '-s -w'];

function goCommand() {
  for (const command of ['go', '/usr/local/go/bin/go', join(homedir(), 'go/bin/go')]) {
    try {
      return { command, version: execFileSync(command, ['version'], { encoding: 'utf8' }).trim() };
    } catch {}
  }
  return undefined;
}

function go(cwd, args) {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-buildvcs=false', GOWORK: 'off' };
    const child = spawn(goCommand().command, args, { cwd, env, stdio: ['ignore', 'inherit', 'inherit'] });
    child.on('error', reject);
    child.on('close', (code) => (code === 0 ? resolve() : reject(new Error(`go ${args[0]} ended with ${code}`))));
  });
}

function cacheKey(name, goVersion) {
  const hash = createHash('sha256').update(`${goVersion}\0${flags.join(' ')}\0${servers[name].build}`);
  for (const file of servers[name].files) hash.update(`\0${file}\0`).update(readFileSync(join(here, name, file)));
  return hash.digest('hex').slice(0, 16);
}

/** Where the binary of a server is (or would be), or undefined where no Go can build it. */
export function serverBinary(name) {
  const found = goCommand();
  return found && join(root, `${name}-${cacheKey(name, found.version)}`, name);
}

async function buildOne(name) {
  const target = serverBinary(name);
  if (existsSync(target)) return console.log(`${name}: there already (${megabytes(target)} MB)`);
  const started = Date.now();
  mkdirSync(root, { recursive: true });
  const folder = mkdtempSync(join(root, `.${name}-`));
  try {
    for (const file of servers[name].files) cpSync(join(here, name, file), join(folder, file));
    const output = join(folder, 'built', name);
    await servers[name].build(folder, output);
    rmSync(dirname(target), { recursive: true, force: true });
    renameSync(dirname(output), dirname(target));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  console.log(`${name}: built in ${Math.round((Date.now() - started) / 1000)} s (${megabytes(target)} MB)`);
}

const megabytes = (file) => Math.round(statSync(file).size / 1e6);

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(servers);
  const unknown = names.find((name) => !(name in servers));
  if (unknown) {
    console.error(`No server is called ${unknown}; there are ${Object.keys(servers).join(', ')}.`);
    process.exit(2);
  }
  if (!goCommand()) {
    console.error(
      'servers:build needs Go 1.26 or newer on the PATH (https://go.dev/dl/); it builds the servers of the pipeline lane from source.',
    );
    process.exit(3);
  }
  const started = Date.now();
  for (const name of names) await buildOne(name);
  console.log(`servers:build took ${Math.round((Date.now() - started) / 1000)} s`);
}
