/** Programs whose disk fills up while they make calls: nothing changes for them, and what was not kept is counted and marked. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runProgram } from '../../corpus/spawn.mjs';
import { startOtlpReceiver } from '../../helpers/otlp-receiver.mjs';
import { startProvider } from './evidence.mjs';
import { readRecorded } from './recorded.mjs';

const program = fileURLToPath(new URL('program.mjs', import.meta.url));
const CALLS = 30;
/** From a disk that takes next to nothing to one that takes all. */
const LEAST_KIB = 20;
const MOST_KIB = 600;

/** Whether small file systems can be mounted here: Linux, and the right to. */
export const canFillDisks = process.platform === 'linux' && spawnSync('sh', ['-c', 'unshare -m true']).status === 0;

/** Runs `runs` of them. Returns the sums and what was wrong. */
export async function runFullDisks({ runs, onRun = () => {} }) {
  const base = mkdtempSync(join(tmpdir(), 'orangebox-disks-'));
  const sums = { runs: 0, calls: 0, kept: 0, unkept: 0, counted: 0, torn: 0 };
  const wrong = [];
  const provider = await startProvider(join(base, 'provider'));
  const args = [JSON.stringify({ url: provider.url, name: 'disk', calls: CALLS })];
  try {
    const bare = await runProgram(program, args, { preload: false });
    for (let i = 0; i < runs; i++) {
      const sizeKib = Math.floor(LEAST_KIB + Math.random() ** 2 * (MOST_KIB - LEAST_KIB));
      const at = join(base, `disk${i}`);
      mkdirSync(at);
      const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeKib}k`, 'tmpfs', at]);
      if (mount.status !== 0) throw new Error(`no file system of ${sizeKib} KiB: ${mount.stderr}`);
      try {
        await oneDisk({ args, bare, dir: join(at, 'box') }, sums, (text) =>
          wrong.push(`run ${i}, ${sizeKib} KiB: ${text}`),
        );
      } finally {
        spawnSync('umount', ['-l', at]);
      }
      onRun(sums, wrong);
    }
  } finally {
    await provider.close();
    rmSync(base, { recursive: true, force: true });
  }
  return { sums, wrong };
}

async function oneDisk({ args, bare, dir }, sums, say) {
  const receiver = await startOtlpReceiver();
  try {
    const env = {
      ORANGEBOX_DIR: dir,
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      // All is to be sent, however busy the machine.
      ORANGEBOX_EXIT_FLUSH_MS: '30000',
    };
    const ran = await runProgram(program, args, { env });
    if (ran.stdout !== bare.stdout || ran.code !== bare.code) say(`the program said ${ran.code} ${ran.stdout}`);
    // Nothing could be written, and: little room is left. Each is said once.
    const said = ran.stderr.split('\n').filter(Boolean);
    if (said.length > 2 || !said.every((line) => line.startsWith('orangebox: '))) say(`it said ${ran.stderr}`);
    const recorded = await readRecorded(dir);
    for (const text of recorded.unreadable) say(`not readable: ${text}`);
    judge({ recorded, spans: receiver.metadataSpans(), metrics: receiver.metrics() }, sums, say);
  } finally {
    await receiver.close();
  }
}

function judge({ recorded, spans, metrics }, sums, say) {
  const kept = new Map([...recorded.calls.values()].flat().map((call) => [call.key, call]));
  let unkept = 0;
  for (const { spanId, attributes } of spans) {
    const key = attributes['orangebox.snapshot.key'] ?? '';
    const level = attributes['orangebox.snapshot.fidelity'];
    const reason = attributes['orangebox.snapshot.fidelity.reason'];
    if (key === '') {
      unkept += 1;
      if (level !== 'partial' || reason !== 'no_storage')
        say(`span ${spanId} of a call not kept says ${level} ${reason}`);
    } else if (kept.get(key)?.fidelity.level !== level)
      say(`span ${spanId} promises what is not there: ${key} ${level}`);
  }
  const dropped = metrics.filter((point) => point.attributes['orangebox.reason'] === 'no_storage');
  const counted = dropped.reduce((sum, { value }) => sum + value, 0);
  if (counted !== unkept) say(`${unkept} calls were not kept, ${counted} are counted`);
  if (new Set(spans.map(({ spanId }) => spanId)).size !== CALLS || spans.length !== CALLS)
    say(`${spans.length} spans came`);
  sums.runs += 1;
  sums.calls += CALLS;
  sums.kept += CALLS - unkept;
  sums.unkept += unkept;
  sums.counted += counted;
  sums.torn += recorded.torn;
}
