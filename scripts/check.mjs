/**
 * The checks that need no running program: types, lint with import fences, format, unused files, package contents. Prints one
 * line per check, the output of those that fail, and closes with the count. Names as arguments limit it to these checks.
 */
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildStale } from './build.mjs';
import { packageNames, root } from './build-configs.mjs';
import { run } from './run.mjs';

const built = () => packageNames.filter((name) => existsSync(join(root, 'packages', name, 'dist/index.cjs')));

/** Packs each package as npm would publish it and hands the tarball to `use`; the first failure is the result. */
async function eachTarball(use) {
  const directory = mkdtempSync(join(tmpdir(), 'orangebox-pack-'));
  const outputs = [];
  let code = 0;
  try {
    const folders = built().map((name) => join(root, 'packages', name));
    const pack = await run('npm', ['pack', '--silent', '--pack-destination', directory, ...folders]);
    if (pack.code !== 0) return pack;
    for (const file of readdirSync(directory).sort()) {
      const result = await use(join(directory, file));
      if (result.code !== 0) {
        code = result.code;
        outputs.push(result.output);
      }
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  return { code, output: outputs.join('\n') };
}

/** Both outputs of every package load and have the same exports; bundlers can break either without a word. */
async function loadOutputs() {
  const outputs = [];
  for (const name of built()) {
    const directory = join(root, 'packages', name, 'dist');
    const script = `const own = (k) => k !== 'default' && !k.startsWith('__'); // the bundler's helpers
      const cjs = Object.keys(require(${JSON.stringify(join(directory, 'index.cjs'))})).filter(own).sort();
      import(${JSON.stringify(join(directory, 'index.mjs'))}).then((m) => {
        const esm = Object.keys(m).filter(own).sort();
        if (String(cjs) !== String(esm)) throw new Error('exports differ: ' + cjs + ' / ' + esm);
      });`;
    const result = await run(process.execPath, ['-e', script], { env: { ...process.env, ORANGEBOX_LEVEL: 'off' } });
    if (result.code !== 0 || result.output !== '') outputs.push(`${name}: ${result.output}`);
  }
  return { code: outputs.length > 0 ? 1 : 0, output: outputs.join('\n') };
}

/** Attributes of the two that need most time come first, so that they overlap with the rest. */
const checks = [
  ['types', () => run('tsc', ['-p', 'tsconfig.json', '--noEmit'])],
  ['lint and fences', () => run('oxlint', ['--type-aware', '--deny-warnings'])],
  ['format', () => run('biome', ['format', '.'])],
  ['unused files and dependencies', () => run('knip', ['--no-progress'])],
  ['outputs load as ESM and CJS', loadOutputs],
  ['package contents (publint)', () => eachTarball((tarball) => run('publint', ['run', '--strict', tarball]))],
  [
    'types of the packages (attw)',
    // The preloads are scripts without types: nobody imports them for values.
    () =>
      eachTarball((tarball) =>
        run('attw', [
          tarball,
          '--profile',
          'node16',
          '--format',
          'ascii',
          '--no-color',
          '--exclude-entrypoints',
          'register',
          'replay-register',
        ]),
      ),
  ],
];

/** Runs the checks, two at a time; returns how many passed and failed. */
export async function runChecks(only = []) {
  await buildStale();
  const counts = { passed: 0, failed: 0 };
  const queue = checks.filter(([name]) => only.length === 0 || only.some((o) => name.includes(o)));
  const worker = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const [name, check] = next;
      const startMs = performance.now();
      const { code, output } = await check();
      const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
      console.log(`${code === 0 ? '✓' : '✗'} ${name} (${seconds} s)`);
      if (code === 0) counts.passed += 1;
      else {
        counts.failed += 1;
        console.log(output.trimEnd());
      }
    }
  };
  await Promise.all([worker(), worker()]);
  return counts;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const counts = await runChecks(process.argv.slice(2));
  console.log(`${counts.passed} passed, ${counts.failed} failed`);
  process.exitCode = counts.failed > 0 ? 1 : 0;
}
