/**
 * Builds the packages whose sources changed since their last build; `--force` builds all. Names limit it to these packages.
 * Packages are external to each other, so they build side by side in one process.
 */
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildConfigs, packageNames, root, sourceFiles, sourcesOf } from './build-configs.mjs';

const stamps = join(root, 'node_modules/.cache/orangebox-build');
const shebang = '#!/usr/bin/env node\n';

/** Digest of all that decides a package's output. */
function fingerprint(name) {
  const hash = createHash('sha256');
  const files = sourcesOf(name).flatMap(sourceFiles);
  files.push(
    join(root, 'packages', name, 'package.json'),
    join(root, 'tsconfig.base.json'),
    join(root, 'package-lock.json'),
    fileURLToPath(import.meta.url),
    join(root, 'scripts/build-configs.mjs'),
  );
  for (const file of files) hash.update(file.slice(root.length)).update('\0').update(readFileSync(file)).update('\0');
  return hash.digest('hex');
}

function isFresh(name, print) {
  const stamp = join(stamps, name);
  if (!existsSync(join(root, 'packages', name, 'dist/index.cjs'))) return false;
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === print;
}

/** tsdown keeps a shebang only when the source has one; the command needs it either way, and the file mode. */
function makeExecutable(file) {
  const text = readFileSync(file, 'utf8');
  if (!text.startsWith('#!')) writeFileSync(file, shebang + text);
  chmodSync(file, 0o755);
}

/**
 * Builds beside the old output and moves file by file, so that programs that run meanwhile never find a half-written or
 * missing file.
 */
async function buildPackage(build, name) {
  const directory = join(root, 'packages', name);
  const dist = join(directory, 'dist');
  const next = join(dist, `.next-${process.pid}`);
  try {
    for (const config of buildConfigs(name, next)) {
      // A package in the making may lack an entry; what exists is built.
      const missing = Object.values(config.entry).some((file) => !existsSync(file));
      if (!missing) await build(config);
    }
    const cli = join(next, 'cli.mjs');
    if (existsSync(cli)) makeExecutable(cli);
    const files = readdirSync(next);
    for (const file of files) renameSync(join(next, file), join(dist, file));
    for (const old of readdirSync(dist)) {
      // Another build may be at work beside this one.
      if (!files.includes(old) && !old.startsWith('.next-')) rmSync(join(dist, old), { recursive: true, force: true });
    }
  } finally {
    rmSync(next, { recursive: true, force: true });
  }
}

/** Builds what is stale; returns the names built. */
export async function buildStale({ force = false, only = packageNames } = {}) {
  const stale = [];
  for (const name of packageNames.filter((n) => only.includes(n))) {
    if (!existsSync(join(root, 'packages', name, 'src/index.ts'))) continue;
    const print = fingerprint(name);
    if (force || !isFresh(name, print)) stale.push({ name, print });
  }
  if (stale.length === 0) return [];
  // tsdown tells in every build that it will drop Node 20 one day; its version is pinned here.
  const warn = console.warn;
  console.warn = (...args) => String(args[0]).includes('is deprecated. Support will be removed') || warn(...args);
  const { build } = await import('tsdown');
  mkdirSync(stamps, { recursive: true });
  const results = await Promise.allSettled(
    stale.map(async ({ name, print }) => {
      rmSync(join(stamps, name), { force: true });
      await buildPackage(build, name);
      writeFileSync(join(stamps, name), print);
      return name;
    }),
  );
  const failed = results.flatMap((r, i) => (r.status === 'rejected' ? [`${stale[i].name}: ${r.reason.message}`] : []));
  if (failed.length > 0) throw new Error(`the build failed\n${failed.join('\n')}`);
  return stale.map(({ name }) => name);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const args = process.argv.slice(2);
  const names = args.filter((a) => !a.startsWith('-'));
  const startMs = performance.now();
  const built = await buildStale({ force: args.includes('--force'), ...(names.length > 0 ? { only: names } : {}) });
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  console.log(built.length > 0 ? `built ${built.join(', ')} in ${seconds} s` : 'build is up to date');
}
