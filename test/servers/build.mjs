// Makes the servers of the pipeline lane ready, in `.cache/servers/<name>-<key>/<name>`: built from the Go modules pinned beside
// this file, Prometheus taken from a Debian package. The key is a digest of what a binary is made of, so a second run takes no
// time; two runs at once build each server once. `npm run servers:build [-- NAME...]`
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findGo, runGo } from './go.mjs';
import { withLock } from './lock.mjs';
import { findPrometheus, unpackPrometheus } from './prometheus.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const cache = process.env.ORANGEBOX_SERVERS_DIR ?? join(here, '../../.cache/servers');
const BUILD = ['build', '-mod=readonly', '-trimpath', '-ldflags', '-s -w', '-o', '{output}'];

/** How each is built: commands of `go`, each in a folder below the one that `files` are copied to. All of it is in the key. */
const recipes = {
  otelcol: {
    files: ['go.mod', 'go.sum', 'builder-config.yaml'],
    // The builder writes the sources; the pinned module files then decide the versions, down to the last indirect one.
    steps: [
      {
        folder: '.',
        go: [
          'run',
          'go.opentelemetry.io/collector/cmd/builder@v0.161.0',
          '--config',
          'builder-config.yaml',
          '--skip-compilation',
          '--skip-get-modules',
        ],
      },
      { folder: 'otelcol-ocb', copy: ['go.mod', 'go.sum'], go: [...BUILD, '.'] },
    ],
  },
  weed: {
    files: ['go.mod', 'go.sum'],
    steps: [{ folder: '.', go: [...BUILD, 'github.com/seaweedfs/seaweedfs/weed'] }],
  },
  jaeger: {
    files: ['go.mod', 'go.sum'],
    steps: [{ folder: '.', go: [...BUILD, 'github.com/jaegertracing/jaeger/cmd/jaeger'] }],
  },
};

/** All names that `npm run servers:build` knows. */
export const serverNames = [...Object.keys(recipes), 'prometheus'];

function cacheKey(name, goVersion) {
  const { files, steps } = recipes[name];
  const hash = createHash('sha256').update(`${goVersion}\0${JSON.stringify(steps)}`);
  for (const file of files) hash.update(`\0${file}\0`).update(readFileSync(join(here, name, file)));
  return hash.digest('hex').slice(0, 16);
}

/** Where the binary of a server is or would be; undefined where it cannot be made: no Go, or no package of Prometheus. */
export function serverBinary(name) {
  if (name === 'prometheus' || name === 'promtool') return findPrometheus(cache, name);
  const go = findGo();
  return go && join(cache, `${name}-${cacheKey(name, go.version)}`, name);
}

async function build(name, target) {
  for (const left of readdirSync(cache))
    if (left.startsWith(`.${name}-`)) rmSync(join(cache, left), { recursive: true });
  const folder = mkdtempSync(join(cache, `.${name}-`));
  try {
    for (const file of recipes[name].files) cpSync(join(here, name, file), join(folder, file));
    const output = join(folder, 'built', name);
    for (const step of recipes[name].steps) {
      for (const file of step.copy ?? []) cpSync(join(folder, file), join(folder, step.folder, file));
      await runGo(
        join(folder, step.folder),
        step.go.map((word) => (word === '{output}' ? output : word)),
      );
    }
    // Should another run have been here all the same, its binary is as good.
    if (!existsSync(target)) renameSync(dirname(output), dirname(target));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function make(name) {
  const there = () => {
    const path = serverBinary(name);
    return path !== undefined && existsSync(path) ? path : undefined;
  };
  if (there()) return console.log(`${name}: there already (${megabytes(there())} MB)`);
  mkdirSync(cache, { recursive: true });
  const started = Date.now();
  await withLock(join(cache, `.lock-${name}`), `${name}: another run builds it, waiting`, async () => {
    if (there()) return;
    if (name === 'prometheus') await unpackPrometheus(cache);
    else await build(name, serverBinary(name));
  });
  console.log(`${name}: ready after ${seconds(started)} s (${megabytes(there())} MB)`);
}

const megabytes = (file) => Math.round(statSync(file).size / 1e6);
const seconds = (started) => ((Date.now() - started) / 1000).toFixed(1);

async function main(names) {
  const unknown = names.find((name) => !serverNames.includes(name));
  if (unknown) return fail(2, `No server is called ${unknown}; there are ${serverNames.join(', ')}.`);
  const needsGo = names.some((name) => name in recipes);
  const go = findGo();
  if (needsGo && !go) {
    return fail(
      3,
      'servers:build needs Go on the PATH (https://go.dev/dl/): it builds the servers of the pipeline lane from source.',
    );
  }
  const wanted = Math.max(...Object.keys(recipes).map(minorVersion));
  if (needsGo && go.minor < wanted)
    return fail(3, `servers:build needs Go 1.${wanted} or newer; this is ${go.version}.`);
  const started = Date.now();
  for (const name of names) {
    try {
      await make(name);
    } catch (error) {
      return fail(1, `${name}: ${error.message}`);
    }
  }
  console.log(`servers:build took ${seconds(started)} s`);
}

/** The Go that a server's modules demand: the 26 of `go 1.26.2`. */
const minorVersion = (name) => Number(/^go 1\.(\d+)/m.exec(readFileSync(join(here, name, 'go.mod'), 'utf8'))[1]);

function fail(code, line) {
  console.error(line);
  process.exitCode = code;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main(process.argv.length > 2 ? process.argv.slice(2) : serverNames);
}
