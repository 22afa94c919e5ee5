/** What the drills share: programs with their memory watched, what arrived, and figures as a table. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { openStore } from '@orangebox/store';
import { cleanEnvironment } from '../servers/index.ts';
import { bucketOf, objectNames } from '../stored-objects.ts';

const PRELOAD = fileURLToPath(new URL('../../../../packages/orangebox/dist/register.cjs', import.meta.url));

/** Resident memory of a process at its highest, in bytes; 0 when it has gone. */
function peakRssBytes(pid) {
  try {
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

/**
 * Runs a program under the preload (`preload: false` without) to its end.
 * @returns `{code, stdout, stderr, seconds, peakRssBytes}`
 */
export async function runMeasured(script, { args = [], env = {}, preload = true } = {}) {
  const startMs = performance.now();
  const child = spawn(process.execPath, [...(preload ? ['--require', PRELOAD] : []), script, ...args], {
    env: cleanEnvironment(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let peak = 0;
  const watch = setInterval(() => {
    peak = Math.max(peak, peakRssBytes(child.pid));
  }, 100);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text;
  });
  const code = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  clearInterval(watch);
  return { code, stdout, stderr, seconds: (performance.now() - startMs) / 1000, peakRssBytes: peak };
}

/** Keys that the recordings under a directory promise, with the times that each was acknowledged or not. */
export async function promisedKeys(directory) {
  const store = await openStore(directory);
  const keys = [];
  try {
    for await (const entry of store.list({ order: 'oldest' })) if (entry.key) keys.push(entry.key);
  } finally {
    await store.close();
  }
  return keys;
}

/** Keys that the store of a pipeline holds whole objects of. */
export async function storedKeys(servers) {
  const bucket = bucketOf(servers);
  try {
    return new Set((await objectNames(bucket)).map((name) => name.slice(0, name.lastIndexOf('/'))));
  } finally {
    await bucket.close();
  }
}

/** Waits until all keys are stored, or for as long as it is told; gives those that are not. */
export async function missingKeys(servers, keys, timeoutMs = 120_000) {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const stored = await storedKeys(servers);
    const missing = keys.filter((key) => !stored.has(key));
    if (missing.length === 0 || Date.now() > deadline) return missing;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** The sum of a metric's series on a `/metrics` page, of those whose labels hold `label`. */
export async function metricSum(url, name, label = '') {
  const text = await (await fetch(url)).text();
  return text
    .split('\n')
    .filter((line) => new RegExp(`^${name}(\\{| )`).test(line) && line.includes(label))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

const mebibytes = (bytes) => `${Math.round(bytes / 2 ** 20)} MiB`;

/** Memory of a pipeline's servers at its highest. */
export const serverMemory = ({ collector, archiver }) => ({
  'collector peak RSS': mebibytes(collector.peakRssBytes()),
  ...(archiver ? { 'archiver peak RSS': mebibytes(archiver.peakRssBytes()) } : {}),
});

export { mebibytes };

/** Prints the figures of one drill. */
export function report(title, figures) {
  const width = Math.max(...Object.keys(figures).map((name) => name.length));
  const rows = Object.entries(figures).map(([name, value]) => `  ${name.padEnd(width)}  ${value}`);
  process.stdout.write(`\n${title}\n${rows.join('\n')}\n`);
}
