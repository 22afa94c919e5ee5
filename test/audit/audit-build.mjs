/** Copies of the built packages with a leak put into them, and the audit run on each. */
import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../..');
/** Within the repository, so that the copies find the dependencies. */
const cache = join(root, 'node_modules/.cache/audit-leaks');
const PROGRAM = join(here, 'program.cjs');
const RUN_MAX_MS = 180_000;

/** Every leak, as its files give them. */
export async function allLeaks() {
  const files = readdirSync(join(here, 'leaks')).sort();
  const lists = await Promise.all(
    files.map(async (file) => (await import(/* @vite-ignore */ pathToFileURL(join(here, 'leaks', file)).href)).leaks),
  );
  return lists.flat();
}

/** Keeps the packages as they are built now: a build in the meantime must not change half of a drill. */
export function takeBuild() {
  mkdirSync(cache, { recursive: true });
  const base = mkdtempSync(join(cache, 'build-'));
  for (const directory of readdirSync(join(root, 'packages'))) {
    const from = join(root, 'packages', directory);
    const name = directory === 'orangebox' ? directory : `@orangebox/${directory}`;
    const to = join(base, 'node_modules', name);
    cpSync(join(from, 'dist'), join(to, 'dist'), { recursive: true });
    cpSync(join(from, 'package.json'), join(to, 'package.json'));
    if (existsSync(join(from, 'node_modules'))) symlinkSync(join(from, 'node_modules'), join(to, 'node_modules'));
  }
  return {
    base,
    anchored: ({ patches }) => patches.every((patch) => anchorsIn(base, patch).length > 0),
    remove: () => rmSync(base, { recursive: true, force: true }),
  };
}

/** Built files that hold the anchor of a patch. */
function anchorsIn(base, { package: name, anchor }) {
  const dist = join(base, 'node_modules', name, 'dist');
  return readdirSync(dist)
    .filter((file) => file.endsWith('.cjs'))
    .map((file) => join(dist, file))
    .filter((file) => readFileSync(file, 'utf8').split(anchor).length > 1);
}

/** A copy with the patches of a leak. Throws where an anchor is gone: then the leak would not be one. */
function copyWith(build, leak) {
  const copy = mkdtempSync(join(cache, 'leak-'));
  cpSync(build.base, copy, { recursive: true, verbatimSymlinks: true });
  for (const patch of leak?.patches ?? []) {
    const { package: name, anchor, replacement } = patch;
    const files = anchorsIn(copy, patch);
    if (files.length === 0) {
      rmSync(copy, { recursive: true, force: true });
      throw new Error(`the leak "${leak.name}" has lost its anchor in ${name}: ${anchor}`);
    }
    for (const file of files) {
      const text = readFileSync(file, 'utf8');
      const isPattern = anchor instanceof RegExp;
      writeFileSync(file, isPattern ? text.replace(anchor, replacement) : text.split(anchor).join(replacement));
    }
  }
  return copy;
}

/** Audits a build; without a leak the real one. `{ leak, code, report, found, ms }`. */
export async function auditBuild(build, leak) {
  const copy = copyWith(build, leak);
  const startMs = performance.now();
  try {
    const cli = join(copy, 'node_modules/orangebox/dist/cli.mjs');
    const { code, stdout, stderr } = await run([cli, 'audit', '--json', '--', process.execPath, PROGRAM]);
    if (!stdout.startsWith('{'))
      throw new Error(`the audit of "${leak?.name ?? 'the real build'}" gave no report: ${stderr.slice(0, 2000)}`);
    const report = JSON.parse(stdout);
    const found =
      leak !== undefined &&
      code === 1 &&
      report.findings.some(({ kind, message }) => kind === leak.finds && leak.mentions.test(message));
    return { leak, code, report, found, stderr, ms: performance.now() - startMs };
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function run(args) {
  const { PATH, HOME, TMPDIR } = process.env;
  const env = Object.fromEntries(Object.entries({ PATH, HOME, TMPDIR }).filter(([, value]) => value !== undefined));
  const child = spawn(process.execPath, args, {
    cwd: here,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: RUN_MAX_MS,
  });
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) child[name].setEncoding('utf8').on('data', (text) => (texts[name] += text));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, ...texts }));
  });
}

/** Audits several builds, `atOnce` at a time, results in the order given. */
export async function auditAll(build, leaks, atOnce, onResult = () => undefined) {
  const results = [];
  const waiting = leaks.map((leak, i) => ({ leak, i }));
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      results[next.i] = await auditBuild(build, next.leak);
      onResult(results[next.i]);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return results;
}
