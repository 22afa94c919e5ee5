/**
 * `npm run drill:fuzz -- [--count N] [--quick] [--seed N] [--threads N] [--kind segment|body] [--from N] [--out DIR]`: N mutated
 * segments and N mutated bodies (a million of each) through everything that reads them. What fails is written to DIR;
 * `--replay FILE` runs one such file, `--from N --count 1` makes one anew.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { hasCorpus } from '../../corpus/load.mjs';
import { table } from '../../corpus/table.mjs';
import { watchAllocations } from './allocations.mjs';
import { exchanges } from './material.mjs';
import { checkInput, INPUT_MAX_MS, KINDS } from './run-inputs.mjs';
import { HEAP_MAX_MB, runThreads } from './threads.mjs';

const { values } = parseArgs({
  options: {
    count: { type: 'string' },
    quick: { type: 'boolean', default: false },
    seed: { type: 'string' },
    threads: { type: 'string', default: '2' },
    kind: { type: 'string' },
    from: { type: 'string', default: '0' },
    out: { type: 'string', default: join(tmpdir(), 'orangebox-fuzz') },
    replay: { type: 'string' },
  },
});
/** Failures that are written; more tell nothing new. */
const KEPT_FAILURES = 200;
/** Memory in use after the run may be more than before it by this much: caches, compiled code. */
const GROWTH_MAX_BYTES = 48 * 2 ** 20;

const mebibytes = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

async function replay(path) {
  const bytes = readFileSync(path);
  const kind = basename(path).startsWith('segment') ? KINDS.segment : KINDS.body;
  watchAllocations();
  const number = Number(/-(\d+)\.\w+$/.exec(path)?.[1] ?? 0);
  const { wrong, tookMs } = await checkInput(kind, kind.ofFile(bytes), number);
  console.log(wrong ?? `nothing wrong, ${tookMs.toFixed(1)} ms`);
  return wrong === undefined;
}

async function drill(kindName, seed) {
  const count = Number(values.count ?? (values.quick ? 20_000 : 1_000_000));
  const startMs = performance.now();
  let failures = 0;
  const onFailure = ({ number, wrong, file }) => {
    failures += 1;
    if (failures > KEPT_FAILURES) return;
    mkdirSync(values.out, { recursive: true });
    const path = join(values.out, `${kindName}-${seed}-${number}.${KINDS[kindName].extension}`);
    writeFileSync(path, file);
    console.log(`${kindName} ${number}: ${wrong.split('\n').slice(0, 4).join('\n  ')}\n  ${path}`);
  };
  const progress = (done) => process.stderr.write(`${kindName}: ${done} of ${count}, ${failures} failed\n`);
  const threads = Number(values.threads);
  const results = await runThreads({
    kindName,
    seed,
    from: Number(values.from),
    count,
    threads,
    onFailure,
    onProgress: progress,
  });
  const seconds = (performance.now() - startMs) / 1000;
  const sum = (pick) => results.reduce((total, result) => total + pick(result), 0);
  const grown = Math.max(0, ...results.map(({ begin, end }) => end.heap + end.external - begin.heap - begin.external));
  if (grown > GROWTH_MAX_BYTES) {
    failures += 1;
    console.log(`${kindName}: a thread holds ${mebibytes(grown)} more after the run than before`);
  }
  return {
    row: [
      kindName,
      count,
      mebibytes(sum(({ bytes }) => bytes)),
      failures,
      `${Math.max(0, ...results.map(({ slowestMs }) => slowestMs)).toFixed(0)} ms`,
      mebibytes(grown),
      `${seconds.toFixed(0)} s`,
      `${(count / seconds).toFixed(0)}/s`,
    ],
    failures,
  };
}

if (values.replay !== undefined) {
  const ok = await replay(values.replay);
  console.log(ok ? '1 passed, 0 failed' : '0 passed, 1 failed');
  process.exitCode = ok ? 0 : 1;
} else {
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
  console.log(
    `seed ${seed}; ${exchanges.length} exchanges to mutate${hasCorpus() ? '' : ' (the corpus is not there: own ones only)'}`,
  );
  const results = [];
  for (const kindName of values.kind === undefined ? Object.keys(KINDS) : [values.kind]) {
    results.push(await drill(kindName, seed));
  }
  console.log(
    table([
      ['inputs', 'count', 'bytes', 'failed', 'slowest', 'grown', 'took', 'rate'],
      ...results.map(({ row }) => row),
    ]),
  );
  console.log(
    `bounds: ${INPUT_MAX_MS} ms of CPU an input, 16 times its size and 1 MiB in one piece, ${HEAP_MAX_MB} MiB of heap a thread\n`,
  );
  const failed = results.filter(({ failures }) => failures > 0).length;
  console.log(`${results.length - failed} passed, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
}
