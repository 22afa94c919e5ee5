/**
 * Lays out what the image holds: `node deploy/image.mjs DIRECTORY` writes `package.json` and `node_modules` with the packages of this
 * repository and what they need to run, nothing else. Installs and builds before, unless both are done. Run by the Dockerfile; uses
 * Node's own modules only.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

const readJson = (file) => JSON.parse(readFileSync(file, 'utf8'));

function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${error?.message ?? status}`);
}

/** Folders that something besides development needs, as the lock says: where they are here, and where they go. */
export function runtimeFolders(lock) {
  const needed = [];
  const ofWorkspaces = /^packages\/([^/]+)\/node_modules\//;
  const installedAs = Object.fromEntries(
    Object.entries(lock.packages).flatMap(([path, { link, resolved }]) => (link ? [[resolved, path]] : [])),
  );
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (!path.includes('node_modules/') || entry.dev === true || entry.devOptional === true) continue;
    const source = entry.link ? entry.resolved : path;
    // Optional ones are of one platform each: only those that are installed here.
    if (!existsSync(join(root, source))) continue;
    const workspace = ofWorkspaces.exec(path)?.[0].slice(0, -'/node_modules/'.length);
    const target = workspace === undefined ? path : installedAs[workspace] + path.slice(workspace.length);
    needed.push({ source, target, link: entry.link === true });
  }
  return needed;
}

/** A package of this repository: its manifest and what was built, as it would be published. */
function copyPackage(source, target) {
  mkdirSync(target, { recursive: true });
  for (const file of ['package.json', 'LICENSE']) {
    if (existsSync(join(root, source, file))) cpSync(join(root, source, file), join(target, file));
  }
  cpSync(join(root, source, 'dist'), join(target, 'dist'), {
    recursive: true,
    filter: (file) => !/\.d\.[cm]?ts$/.test(file),
  });
}

function copyDependency(source, target) {
  cpSync(join(root, source), target, {
    recursive: true,
    dereference: true,
    // Nested folders have entries of their own in the lock; types and source maps are not run.
    filter: (file) =>
      !file.slice(root.length + source.length + 1).includes('node_modules') && !/\.(d\.[cm]?ts|map)$/.test(file),
  });
}

/** Writes the tree and gives how many packages it has. */
export function layOut(directory) {
  const { version, license } = readJson(join(root, 'package.json'));
  const folders = runtimeFolders(readJson(join(root, 'package-lock.json')));
  for (const { source, target, link } of folders) {
    if (link) copyPackage(source, join(directory, target));
    else copyDependency(source, join(directory, target));
  }
  writeFileSync(
    join(directory, 'package.json'),
    `${JSON.stringify({ name: 'orangebox-image', version, private: true, license })}\n`,
  );
  return folders.length;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [directory] = process.argv.slice(2);
  if (directory === undefined) throw new Error('usage: node deploy/image.mjs DIRECTORY');
  if (!existsSync(join(root, 'node_modules'))) run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund']);
  if (!existsSync(join(root, 'packages/orangebox/dist/cli.mjs'))) run(process.execPath, ['scripts/build.mjs']);
  mkdirSync(directory, { recursive: true });
  console.log(`${layOut(directory)} packages laid out`);
}
