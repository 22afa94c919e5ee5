/**
 * What is built from each package, in dependency order. Workspace packages and all dependencies stay external, with one
 * exception: `orangebox/register` is one file that inlines the preload's own code, since it must load fast and alone.
 */
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = join(dirname(fileURLToPath(import.meta.url)), '..');

/** Directories under `packages/`, in dependency order. */
export const packageNames = ['schema', 'codec', 'recorder', 'store', 'instrument', 'replay', 'server', 'orangebox'];

/** Packages whose sources are part of `register.cjs`. */
const inlined = ['schema', 'codec', 'instrument'];

/** Packages whose sources are part of the recorder: it loads before the first request leaves, so it must load fast. */
const inlinedInRecorder = ['schema', 'codec'];

const sourceAlias = (packages) =>
  Object.fromEntries(packages.map((p) => [`@orangebox/${p}`, join(root, 'packages', p, 'src/index.ts')]));

/** Everything that is not a path is external: dependencies load lazily or not at all, and the OpenTelemetry CJS builds do not survive bundling. */
const external = [/^[^./]/];

const shared = (directory, outDir) => ({
  cwd: directory,
  config: false,
  outDir,
  tsconfig: join(root, 'tsconfig.json'),
  platform: 'node',
  target: 'node20.19',
  fixedExtension: true,
  sourcemap: false,
  treeshake: true,
  clean: false,
  report: false,
  logLevel: 'error',
  hash: false,
});

/** Workspace packages as part of the output; what several chunks use goes into one more, since each file costs at load. */
const selfContained = (packages, entry) => ({
  alias: sourceAlias(packages),
  deps: {
    alwaysBundle: packages.map((p) => `@orangebox/${p}`),
    neverBundle: [/^node:/, /^@opentelemetry\//, /^@bufbuild\//, '@orangebox/recorder/recovery'],
  },
  outputOptions: { codeSplitting: { groups: [{ name: sharedChunk(entry), minShareCount: 2 }] } },
});

/** Names the chunk of what several chunks use: what the entry loads by itself stands apart from what only later chunks do. */
function sharedChunk(entry) {
  const early = new Set();
  return (id, chunking) => {
    if (early.size === 0) addImports(entry, (module) => chunking.getModuleInfo(module), early);
    return early.has(id) ? 'shared' : 'shared-later';
  };
}

/** Adds a module and all that is loaded with it. */
function addImports(id, getModuleInfo, found) {
  if (found.has(id)) return;
  found.add(id);
  for (const imported of getModuleInfo(id)?.importedIds ?? []) addImports(imported, getModuleInfo, found);
}

/**
 * The recorder's recovery is a build of its own: what it shares with the rest would be loaded with the recorder's core.
 * Its chunks stand in the same directory under names of their own.
 */
function recovery(library, directory) {
  const entry = join(directory, 'src/recovery/index.ts');
  return {
    ...library,
    ...selfContained(inlinedInRecorder, entry),
    entry: { recovery: entry },
    outputOptions: (options, format) => ({
      ...options,
      codeSplitting: { groups: [{ name: 'recovery-shared', minShareCount: 2 }] },
      chunkFileNames: `recovery-[name].${format === 'cjs' ? 'cjs' : 'mjs'}`,
    }),
  };
}

/** tsdown configurations of one package, written to `outDir`. */
export function buildConfigs(name, outDir) {
  const directory = join(root, 'packages', name);
  const library = {
    ...shared(directory, outDir),
    entry: { index: join(directory, 'src/index.ts') },
    format: ['esm', 'cjs'],
    dts: { sourcemap: false },
    deps: { neverBundle: external, skipNodeModulesBundle: true },
  };
  // Run mode is loaded by itself, and only where it is on.
  if (name === 'instrument') library.entry['run'] = join(directory, 'src/run/index.ts');
  if (name === 'replay') library.entry['process'] = join(directory, 'src/process/index.ts');
  if (name === 'recorder')
    return [{ ...library, ...selfContained(inlinedInRecorder, library.entry.index) }, recovery(library, directory)];
  if (name !== 'orangebox') return [library];
  const preload = {
    ...shared(directory, outDir),
    entry: { register: join(directory, 'src/register.ts') },
    format: ['cjs'],
    dts: false,
    minify: false,
    alias: Object.fromEntries(inlined.map((p) => [`@orangebox/${p}`, join(root, 'packages', p, 'src/index.ts')])),
    deps: {
      alwaysBundle: inlined.map((p) => `@orangebox/${p}`),
      neverBundle: [/^node:/, '@orangebox/recorder', '@opentelemetry/api'],
    },
  };
  // What `orangebox replay` loads into a program that runs again; it loads the rest from the packages.
  const replayPreload = {
    ...shared(directory, outDir),
    entry: { 'replay-register': join(directory, 'src/replay-register.ts') },
    format: ['cjs'],
    dts: false,
    deps: { neverBundle: external },
  };
  // What `orangebox audit` loads into a program: files of their own, since nothing of them may share code with the preload.
  const audit = ['probe', 'seeds'].map((entry) => ({
    ...shared(directory, outDir),
    entry: { [`audit-${entry}`]: join(directory, `src/audit-probe/${entry}.ts`) },
    format: ['cjs'],
    dts: false,
    deps: { neverBundle: external },
  }));
  const cli = {
    ...shared(directory, outDir),
    entry: { cli: join(directory, 'src/cli.ts') },
    format: ['esm'],
    dts: false,
    deps: { neverBundle: external, skipNodeModulesBundle: true },
  };
  return [library, preload, replayPreload, ...audit, cli];
}

/** Packages whose sources a package's output is made of. */
export function sourcesOf(name) {
  if (name === 'recorder') return [...inlinedInRecorder, name];
  return name === 'orangebox' ? [...inlined, name] : [name];
}

/** Source files of a package that end up in its output. */
export function sourceFiles(name) {
  const source = join(root, 'packages', name, 'src');
  return readdirSync(source, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.test.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}
