/** The long run in a process of its own, and what must not grow in it. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { plainEnvironment } from '../../corpus/spawn.mjs';

const PROGRAM = fileURLToPath(new URL('program.mjs', import.meta.url));
/** Calls after which the caches that are bounded by a number of entries are full. */
const CACHES_FULL_CALLS = 20_000;
const HEAP_GROWTH_MAX_BYTES = 12 * 2 ** 20;
const HEAP_MAX_BYTES = 64 * 2 ** 20;
const RSS_GROWTH_MAX_BYTES = 64 * 2 ** 20;
/** The part of a run that is its beginning, and as much is its end. */
const PART_SHARE = 0.3;
/** Between two turns nothing is held but what has just come. */
const HELD_MAX_BYTES = 4 * 2 ** 20;
/** Descriptors that a process may have more at a later point: segments and a directory that a sweep reads. */
const DESCRIPTORS_MAX_MORE = 8;
/** Timers of a sweep and of a metrics reader. */
const RESOURCES_MAX = 8;
/** A file of a series is rotated at an eighth of the bound; those that were rewritten are smaller. */
const FILES_MAX = 200;

function filesBelow(directory) {
  const found = { files: 0, diskBytes: 0 };
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    try {
      found.diskBytes += statSync(join(entry.parentPath ?? entry.path, entry.name)).size;
      found.files += 1;
    } catch {
      // It was removed meanwhile.
    }
  }
  return found;
}

/** Runs it; `wrong` says what grew. */
export async function runLong({ calls, every, dirBytes, onPoint = () => {} }) {
  const directory = mkdtempSync(join(tmpdir(), 'orangebox-long-'));
  const env = plainEnvironment({
    ORANGEBOX_DIR: join(directory, 'box'),
    ORANGEBOX_DIR_BYTES: String(dirBytes),
    ORANGEBOX_INCLUDE: '*',
  });
  const points = [];
  let end;
  let stderr = '';
  try {
    const child = spawn(process.execPath, ['--expose-gc', PROGRAM, String(calls), String(every)], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text;
    });
    const exited = new Promise((resolve) => child.once('close', resolve));
    for await (const line of createInterface({ input: child.stdout })) {
      const said = JSON.parse(line);
      if (said.end) end = said.end;
      else {
        const point = { ...said, ...filesBelow(join(directory, 'box', 'segments')) };
        points.push(point);
        onPoint(point);
      }
    }
    const code = await exited;
    return {
      points,
      end,
      wrong: [...(code === 0 ? [] : [`ended with ${code}: ${stderr}`]), ...whatGrew(points, end, calls, dirBytes)],
    };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function whatGrew(points, end, calls, dirBytes) {
  const wrong = [];
  const expectAtMost = (name, value, most) => {
    if (!(value <= most)) wrong.push(`${name}: ${value}, at most ${most} expected`);
  };
  // Conversations are remembered up to this number of calls: until then memory has to grow.
  const settled = points.filter(({ calls: done }) => done >= CACHES_FULL_CALLS);
  // A point may fall into a sweep, which knows of all calls in the directory meanwhile: what stays shows where there is none.
  const count = Math.max(1, Math.floor(settled.length * PART_SHARE));
  const lowest = (name, of) => Math.min(...of.map((point) => point[name]));
  for (const [name, growthMaxBytes] of [
    ['heapUsed', HEAP_GROWTH_MAX_BYTES],
    ['external', HEAP_GROWTH_MAX_BYTES],
    ['rss', RSS_GROWTH_MAX_BYTES],
  ]) {
    const begun = lowest(name, settled.slice(0, count));
    expectAtMost(`lowest ${name} at the end`, lowest(name, settled.slice(-count)), begun + growthMaxBytes);
  }
  for (const point of points) {
    const at = `after ${point.calls} calls`;
    expectAtMost(`heap ${at}`, point.heapUsed, HEAP_MAX_BYTES);
    expectAtMost(`descriptors ${at}`, point.descriptors, points[0].descriptors + DESCRIPTORS_MAX_MORE);
    expectAtMost(`resources ${at}`, point.resources, RESOURCES_MAX);
    expectAtMost(`bytes of held bodies ${at}`, point.heldBytes, HELD_MAX_BYTES);
    expectAtMost(`bytes on disk ${at}`, point.diskBytes, dirBytes);
    expectAtMost(`files ${at}`, point.files, FILES_MAX);
  }
  if (!end) return [...wrong, 'it did not come to its end'];
  if (end.calls !== calls) wrong.push(`${end.calls} calls were finished, ${calls} made`);
  if (end.made.wrapped > end.tools) wrong.push(`${end.tools} tools, ${end.made.wrapped} wrapped ones alone were run`);
  expectAtMost('exchanges open at the end', end.open, 0);
  const faults = Object.entries(end.faults).filter(([name]) => !EXPECTED_FAULTS.has(name));
  if (faults.length > 0) wrong.push(`faults: ${JSON.stringify(faults)}`);
  // Room was made, or there was no need yet.
  const isFull = points.some(({ diskBytes }) => diskBytes > dirBytes / 2);
  if (isFull && calls > 10_000 && !end.faults.dir_bytes) wrong.push('the directory filled, and no room was made');
  return wrong;
}

/** Counts that are no faults: room was made, or not fast enough, and the calls concerned say so. */
const EXPECTED_FAULTS = new Set(['dir_bytes', 'dir_full']);
