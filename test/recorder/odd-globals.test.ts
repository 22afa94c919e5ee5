/** Functions of the platform that throw: what the program sees of its calls is what it sees without the recorder. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { inRepository } from '../helpers/repository.ts';
import { registerFile } from '../preload/harness.ts';

const dir = mkdtempSync(join(tmpdir(), 'orangebox-globals-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const replaced: [place: string, names: string[]][] = [
  ['globalThis', ['performance', 'queueMicrotask', 'structuredClone', 'clearImmediate', 'clearTimeout']],
  ['performance', ['now']],
  ['process', ['hrtime', 'getActiveResourcesInfo', 'cwd', 'uptime', 'memoryUsage', 'cpuUsage', 'emitWarning']],
  ['Date', ['now', 'parse']],
  ['JSON', ['parse', 'stringify']],
  ['Set', ['add', 'has', 'delete']],
  ['Map', ['get', 'set', 'has', 'delete']],
  ['WeakMap', ['get', 'set', 'has']],
  ['Array', ['at', 'flatMap', 'findLast', 'toSorted']],
  ['Uint8Array', ['findLastIndex', 'toSorted']],
  ['String', ['matchAll', 'replaceAll', 'normalize', 'at']],
  ['Object', ['entries', 'fromEntries', 'groupBy']],
  ['ObjectPrototype', ['toJSON', 'toString']],
  ['Number', ['isFinite', 'isInteger']],
  ['Buffer', ['concat', 'byteLength']],
  ['crypto', ['getRandomValues', 'randomUUID']],
  ['RegExp', ['exec']],
  ['Promise', ['finally', 'catch']],
];
const cases = replaced.flatMap(([place, names]) => names.map((name): [string, string] => [place, name]));

function run(
  preload: boolean,
  args: readonly string[],
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const before = preload ? ['--require', registerFile] : [];
  const child = spawn(process.execPath, [...before, inRepository('test/recorder/odd-globals.mjs'), ...args], {
    env: { ...process.env, ORANGEBOX_DIR: dir },
    timeout: 20_000,
  });
  const out = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text) => (out[name] += text));
  return new Promise((resolve) => void child.once('close', (code) => resolve({ code, ...out })));
}

it.each(cases)('%s.%s throws', async (place, name) => {
  const [without, recorded] = await Promise.all([run(false, [place, name]), run(true, [place, name])]);
  // What is said of it is ours; what the program prints is not.
  const own = recorded.stderr.split('\n').filter((line) => !line.startsWith('orangebox: '));
  expect({ code: recorded.code, stdout: recorded.stdout, stderr: own.join('\n') }).toEqual(without);
});
