/**
 * `npm run drill:long -- [--calls N] [--quick] [--dir-bytes N]`: a million calls through the recorder at full speed, with rotation
 * and retention; at ten points its memory after a collection, descriptors, handles, and the files on the disk.
 */
import { parseArgs } from 'node:util';
import { table } from '../../corpus/table.mjs';
import { runLong } from './watched-run.mjs';

const { values } = parseArgs({
  options: {
    calls: { type: 'string' },
    quick: { type: 'boolean', default: false },
    'dir-bytes': { type: 'string', default: String(64 * 2 ** 20) },
  },
});
const calls = Number(values.calls ?? (values.quick ? 50_000 : 1_000_000));
const mebibytes = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

const { points, end, wrong } = await runLong({
  calls,
  every: Math.max(1, Math.floor(calls / 10)),
  dirBytes: Number(values['dir-bytes']),
  onPoint: ({ calls: done, seconds }) => process.stderr.write(`${done} calls in ${seconds.toFixed(0)} s\n`),
});
const head = [
  'calls',
  'seconds',
  'heap after gc',
  'external',
  'rss',
  'descriptors',
  'resources',
  'open',
  'held',
  'files',
  'on disk',
];
console.log(
  table([
    head,
    ...points.map((p) => [
      p.calls,
      p.seconds.toFixed(0),
      mebibytes(p.heapUsed),
      mebibytes(p.external),
      mebibytes(p.rss),
      p.descriptors,
      p.resources,
      p.open,
      mebibytes(p.heldBytes),
      p.files,
      mebibytes(p.diskBytes),
    ]),
  ]),
);
console.log(`\n${JSON.stringify(end)}\n`);
for (const text of wrong) console.log(text);
console.log(`${wrong.length === 0 ? 1 : 0} passed, ${wrong.length === 0 ? 0 : 1} failed`);
process.exitCode = wrong.length === 0 ? 0 : 1;
