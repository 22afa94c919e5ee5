/**
 * `npm run bench -- --run-mode [--quick] [--rounds N] [--json FILE]`: what recording a whole run costs, and how long its replay
 * takes, as ratios to the same program alone, in one run, taking turns. Time is that of the whole command, CPU and memory are
 * the program's.
 */
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { plainEnvironment, registerPath } from '../corpus/spawn.mjs';
import { table } from '../corpus/table.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../..');
const cli = join(root, 'packages/orangebox/dist/cli.mjs');
const PROGRAM = 'run-mode-program.mjs';

const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1] ?? Number.NaN;
const ratio = (value, base) => `×${(value / base).toFixed(2)}`;

/** Runs a Node program to its end and gives what it printed and how long it took. */
function timed(args, cwd, env) {
  const startMs = performance.now();
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd, env: plainEnvironment(env), stdio: ['ignore', 'pipe', 'pipe'] });
    const texts = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'])
      child[name].setEncoding('utf8').on('data', (text) => (texts[name] += text));
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, ...texts, wallMs: performance.now() - startMs }));
  });
}

function startProvider() {
  const child = spawn(process.execPath, [join(here, '../fixtures/provider/server.mjs')], {
    env: plainEnvironment(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.stdout.setEncoding('utf8').once('data', (text) => {
      const url = new URL(text.trim());
      resolve({ origin: url.origin, stop: () => child.kill() });
    });
  });
}

function sizeOf(directory) {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return entries.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}

/** The ways to run the program; each is compared with the first. */
const modes = {
  alone: ({ args, run }) => run([PROGRAM, ...args]),
  'recorded as ever': ({ args, run }) =>
    run(['--require', registerPath, PROGRAM, ...args], { ORANGEBOX_DIR: '.ordinary' }),
  'run recorded': ({ args, run }) => run(['--require', registerPath, PROGRAM, ...args], { ORANGEBOX_MODE: 'run' }),
  replayed: ({ args, run }) => run([cli, 'replay', 'last', '--', process.execPath, PROGRAM, ...args]),
};

/** One run in each mode, the replay of what was recorded just before. */
async function round(baseUrl, args) {
  const directory = mkdtempSync(join(tmpdir(), 'orangebox-bench-run-'));
  const usageFile = mkdtempSync(join(tmpdir(), 'orangebox-bench-usage-'));
  try {
    cpSync(join(here, PROGRAM), join(directory, PROGRAM));
    symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'));
    const usage = join(usageFile, 'usage.json');
    const env = { OPENAI_API_KEY: 'sk-bench-0123456789abcdef', OPENAI_BASE_URL: baseUrl, BENCH_USAGE: usage };
    const taken = {};
    for (const [name, start] of Object.entries(modes)) {
      const result = await start({ args, run: (words, more = {}) => timed(words, directory, { ...env, ...more }) });
      if (result.code !== 0) throw new Error(`${name} ended with ${result.code}: ${result.stdout}${result.stderr}`);
      taken[name] = { wallMs: result.wallMs, ...JSON.parse(readFileSync(usage, 'utf8')), stdout: result.stdout };
    }
    if (taken.replayed.stdout !== taken['run recorded'].stdout) throw new Error('the replay printed something else');
    const [ordinary, whole] = ['.ordinary', '.orangebox'].map((name) => sizeOf(join(directory, name)));
    return { taken, sizes: { ordinary, whole } };
  } finally {
    rmSync(directory, { recursive: true, force: true });
    rmSync(usageFile, { recursive: true, force: true });
  }
}

/** Measures and prints. */
export async function benchRunMode({ quick, rounds = quick ? 1 : 5, json }) {
  const calls = quick ? 40 : 200;
  const provider = await startProvider();
  const report = { node: process.version, rounds, calls, scenarios: {} };
  try {
    for (const delayMs of [0, 50]) {
      const samples = [];
      const baseUrl = `${provider.origin}/~${delayMs > 0 ? `delay=${delayMs}` : ''}/v1`;
      for (let i = 0; i < rounds; i += 1) samples.push(await round(baseUrl, [String(calls)]));
      const of = (name, key) => median(samples.map(({ taken }) => taken[name][key]));
      const rows = Object.keys(modes).map((name) => [
        name,
        Object.fromEntries(['wallMs', 'cpuMs', 'peakKb'].map((key) => [key, of(name, key)])),
      ]);
      const [ordinary, whole] = ['ordinary', 'whole'].map((key) => median(samples.map(({ sizes }) => sizes[key])));
      report.scenarios[`answers after ${delayMs} ms`] = { modes: Object.fromEntries(rows), sizes: { ordinary, whole } };
    }
  } finally {
    provider.stop();
  }
  console.log(`Node ${report.node}: a run of ${calls} calls, medians of ${rounds} rounds\n`);
  for (const [scenario, { modes: measured, sizes }] of Object.entries(report.scenarios)) {
    const { alone } = measured;
    console.log(
      table([
        [scenario, 'time', '', 'CPU', '', 'peak memory', ''],
        ...Object.entries(measured).map(([name, { wallMs, cpuMs, peakKb }]) => [
          name,
          `${wallMs.toFixed(0)} ms`,
          ratio(wallMs, alone.wallMs),
          `${cpuMs.toFixed(0)} ms`,
          ratio(cpuMs, alone.cpuMs),
          `${(peakKb / 1024).toFixed(0)} MiB`,
          ratio(peakKb, alone.peakKb),
        ]),
      ]),
    );
    console.log(
      `on disk: ${(sizes.ordinary / 1024).toFixed(0)} KiB as ever, ${(sizes.whole / 1024).toFixed(0)} KiB the run\n`,
    );
  }
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(report, null, 2)}\n`);
}
