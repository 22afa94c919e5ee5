/**
 * `npm run bench -- [--quick] [--rounds N] [--json FILE] [--check]`: what Orangebox costs, measured against the same program
 * without it, in one run, child processes taking turns. `--check` ends with failure where a goal is missed. With `--run-mode`
 * what recording a whole run costs, and how long its replay takes.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { plainEnvironment, registerPath, runProgram } from '../corpus/spawn.mjs';
import { table } from '../corpus/table.mjs';
import { benchRunMode } from './run-mode.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    'run-mode': { type: 'boolean', default: false },
    rounds: { type: 'string' },
    json: { type: 'string' },
  },
});
if (values['run-mode']) {
  const given = values.rounds === undefined ? {} : { rounds: Number(values.rounds) };
  await benchRunMode({ quick: values.quick, ...given, ...(values.json === undefined ? {} : { json: values.json }) });
  process.exit();
}
const rounds = Number(values.rounds ?? (values.quick ? 1 : 5));

/** Warm-up, after some thousand small calls, is long enough for the compiler to be done: what it costs is paid once in a process, not per call. */
const scenarios = [
  { name: '2 KB, plain', path: '/plain/2k', requestBytes: 1_900, warm: 0, count: 1_000 },
  { name: '100 KB, plain', path: '/plain/100k', requestBytes: 100_000, warm: 250, count: 150 },
  { name: '2 KB, streamed, 1,000 chunks', path: '/stream/1000', requestBytes: 1_900, warm: 60, count: 60 },
  { name: '100 KB, streamed, 1,000 chunks', path: '/stream/1000', requestBytes: 100_000, warm: 60, count: 60 },
];

/** Ways to run the program; `off` is what the others are compared with. */
const modes = [
  { name: 'off', preload: false, env: () => ({}) },
  { name: 'capture', preload: true, env: (store) => ({ ORANGEBOX_DIR: store }) },
  {
    name: 'capture and ship',
    preload: true,
    ships: true,
    env: (store, url) => ({
      ORANGEBOX_DIR: store,
      ORANGEBOX_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      // Nothing may be left behind, however busy the machine is: it would be missing from what is measured.
      ORANGEBOX_EXIT_FLUSH_MS: '30000',
      // Spans of the warm-up are sent before the measurement begins.
      OTEL_BSP_SCHEDULE_DELAY: '500',
    }),
  },
];

const sorted = (list) => [...list].sort((a, b) => a - b);
const quantile = (list, q) => sorted(list)[Math.min(list.length - 1, Math.floor(q * list.length))] ?? Number.NaN;
const median = (list) => quantile(list, 0.5);
const ms = (value) => `${value.toFixed(Math.abs(value) < 10 ? 3 : 1)} ms`;
const ratio = (value, base) => `×${(value / base).toFixed(2)}`;

function startServer() {
  const child = spawn(process.execPath, [join(here, 'server.mjs')], {
    env: plainEnvironment(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.stdout.setEncoding('utf8').once('data', (text) => resolve({ url: text.trim(), stop: () => child.kill() }));
  });
}

let runs = 0;

/** Runs a script in a mode with a store of its own; gives the last line it printed, parsed. Fails where not all was shipped. */
async function sample(mode, url, script, args) {
  const store = mkdtempSync(join(tmpdir(), 'orangebox-bench-'));
  const inbox = `${url}/run${++runs}`;
  try {
    const program = await runProgram(join(here, script), [url, ...args], {
      preload: mode.preload,
      env: mode.env(store, inbox),
    });
    if (program.code !== 0) throw new Error(`${script} (${mode.name}) ended with ${program.code}: ${program.stderr}`);
    const result = JSON.parse(program.stdout.trim().split('\n').at(-1) ?? '');
    if (!mode.ships) return result;
    const { payloads, spans, requests } = await (await fetch(`${inbox}/received`)).json();
    if (payloads !== result.calls || spans < result.calls) {
      throw new Error(`of ${result.calls} calls ${payloads} payloads and ${spans} spans arrived: ${program.stderr}`);
    }
    return { ...result, requests };
  } finally {
    rmSync(store, { recursive: true, force: true });
  }
}

/** Samples of all modes, taking turns, each round in another order. */
async function rotate(count, take) {
  const samples = new Map(modes.map((mode) => [mode.name, []]));
  for (let round = 0; round < count; round += 1) {
    for (let i = 0; i < modes.length; i += 1) {
      const mode = modes[(i + round) % modes.length];
      samples.get(mode.name).push(await take(mode));
    }
  }
  return samples;
}

async function measureCalls(url, scenario) {
  const scale = values.quick ? 0.25 : 1;
  const { path, requestBytes, warm, count } = scenario;
  // The warm-up is never cut short: the compiler's work would count as ours.
  const args = [path, requestBytes, warm, count * scale].map((v) => String(typeof v === 'number' ? Math.ceil(v) : v));
  const samples = await rotate(rounds, (mode) => sample(mode, url, 'program.mjs', args));
  return Object.fromEntries([...samples].map(([name, list]) => [name, summaryOf(list)]));
}

function summaryOf(list) {
  const of = (pick) => median(list.map(pick));
  return {
    cpuMs: of((s) => s.cpuMs),
    mainMs: of((s) => s.mainMs),
    p50Ms: of((s) => quantile(s.latencies, 0.5)),
    p99Ms: of((s) => quantile(s.latencies, 0.99)),
    ...(list[0]?.delays && {
      delays: Object.fromEntries(['p50', 'p99', 'max'].map((q) => [q, of((s) => s.delays[q])])),
      lateShare: of((s) => s.lateShare),
    }),
    ...(list[0]?.requests !== undefined && { requestsPerCall: of((s) => s.requests / s.calls) }),
  };
}

async function measureFirst(url) {
  const samples = await rotate(values.quick ? 3 : 11, (mode) => sample(mode, url, 'first.mjs', []));
  return Object.fromEntries(
    [...samples].map(([name, list]) => [
      name,
      Object.fromEntries(['arrivedMs', 'mainMs', 'latencyMs'].map((key) => [key, median(list.map((s) => s[key]))])),
    ]),
  );
}

/** Wall time of an empty program, with and without the preload, and how long loading the preload takes within. */
async function measureStart() {
  const runs = values.quick ? 7 : 31;
  const empty = join(here, 'empty.cjs');
  const loaded = join(here, 'load.cjs');
  const off = [];
  const on = [];
  const load = [];
  for (let i = 0; i < runs; i += 1) {
    off.push((await runProgram(empty, [], { preload: false })).milliseconds);
    on.push((await runProgram(empty, [], {})).milliseconds);
    load.push(Number((await runProgram(loaded, [registerPath], { preload: false })).stdout));
  }
  return { offMs: median(off), onMs: median(on), addedMs: median(on) - median(off), loadMs: median(load) };
}

const server = await startServer();
const report = { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length, rounds, calls: {} };
try {
  report.start = await measureStart();
  report.first = await measureFirst(server.url);
  for (const scenario of scenarios) {
    report.calls[scenario.name] = await measureCalls(server.url, scenario);
  }
} finally {
  server.stop();
}

console.log(`Node ${report.node}, ${report.cores} cores, ${report.cpu ?? ''}; medians of ${rounds} rounds\n`);
const rows = [['added per call', 'CPU', 'main thread', 'p50', 'p99', 'chunk p50, p99, max', 'in a later turn']];
const chunkCells = ({ delays, lateShare }) =>
  delays === undefined
    ? ['', '']
    : [[delays.p50, delays.p99, delays.max].map(ms).join(', '), `${(lateShare * 100).toFixed(2)} %`];
const added = (on, base) => ['cpuMs', 'mainMs', 'p50Ms', 'p99Ms'].map((key) => ms(on[key] - base[key]));
for (const [name, result] of Object.entries(report.calls)) {
  const { off, capture, 'capture and ship': all } = result;
  rows.push([`${name}: without`, ms(off.cpuMs), ms(off.mainMs), ms(off.p50Ms), ms(off.p99Ms), ...chunkCells(off)]);
  rows.push(['  capture', ...added(capture, off), ...chunkCells(capture)]);
  rows.push(['  shipping', ...added(all, capture), '', '']);
  rows.push([`  both (${ratio(all.cpuMs, off.cpuMs)} CPU)`, ...added(all, off), ...chunkCells(all)]);
}
console.log(`${table(rows)}\n`);
const first = report.first;
console.log(
  table([
    ['first call', 'off', ...modes.slice(1).map((m) => `${m.name}, added`)],
    ...[
      ['until the request has arrived', 'arrivedMs'],
      ['main thread busy, in all', 'mainMs'],
      ['latency, answer awaited 300 ms', 'latencyMs'],
    ].map(([label, key]) => [
      label,
      ms(first.off[key]),
      ...modes.slice(1).map((m) => ms(first[m.name][key] - first.off[key])),
    ]),
  ]),
);
console.log(`\nstart of a program: ${ms(report.start.offMs)}, with the preload ${ms(report.start.addedMs)} more`);
console.log(`loading the preload by itself: ${ms(report.start.loadMs)}\n`);

/** What a call costs with everything shipped, and that no chunk of a stream comes in a later turn than without. */
function costGoals() {
  const limits = { '2 KB, plain': 0.8, '100 KB, plain': 1.5 };
  const goals = [];
  for (const [name, { off, 'capture and ship': all }] of Object.entries(report.calls)) {
    const limit = limits[name];
    if (limit === undefined) {
      const value = (all.lateShare - off.lateShare) * 100;
      goals.push({
        goal: `${name}: chunks that come in a later turn of the loop, more than without, %`,
        limit: 0.1,
        value,
      });
    } else {
      goals.push({ goal: `${name}: CPU added, all shipped, ms`, limit, value: all.cpuMs - off.cpuMs });
      goals.push({
        goal: `${name}: main thread added, all shipped, ms`,
        limit: limit / 2,
        value: all.mainMs - off.mainMs,
      });
    }
  }
  return goals;
}

const small = report.calls['2 KB, plain'];
report.goals = [
  ...costGoals(),
  { goal: '2 KB, plain: CPU added by capture, ms', limit: 0.5, value: small.capture.cpuMs - small.off.cpuMs },
  { goal: 'start-up time added, ms', limit: 10, value: report.start.addedMs },
  { goal: 'main thread at the first call, ms', limit: 150, value: first.capture.mainMs - first.off.mainMs },
  { goal: 'first request leaves later by, ms', limit: 20, value: first.capture.arrivedMs - first.off.arrivedMs },
].map((g) => ({ ...g, value: Number(g.value.toFixed(3)), met: g.value < g.limit }));
for (const { goal, limit, value, met } of report.goals)
  console.log(`${met ? '✓' : '✗'} ${goal}: ${value} (goal < ${limit})`);
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, null, 2)}\n`);
if (values.check && report.goals.some((g) => !g.met)) process.exitCode = 1;
