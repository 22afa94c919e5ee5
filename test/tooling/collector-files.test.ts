/** The six collector files repeat each other, since a collector reads one file at a time: what must be the same in all of them is. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { inRepository } from '../helpers/repository.ts';

type Section = Record<string, unknown>;
interface CollectorFile {
  extensions: Section;
  receivers: Section;
  processors: Section;
  connectors: Section;
  exporters: Section;
  service: { telemetry: unknown; pipelines: Record<string, Record<string, unknown>> };
}

const NAMES = ['awss3', 'collector', 'file', 'inline', 'one-port', 'queue'] as const;
type Name = (typeof NAMES)[number];
const files = Object.fromEntries(
  NAMES.map((name) => [name, parse(readFileSync(inRepository(`collector-config/${name}.yaml`), 'utf8'))]),
) as Record<Name, CollectorFile>;

/** Where each common block stands, and the files in which it differs for a reason of its own. */
const BLOCKS: [string, (file: CollectorFile) => unknown, Name[]?][] = [
  ['the health check', (file) => file.extensions['health_check']],
  // One port for both streams takes the receiver's plain name; an inline batch also needs larger bodies.
  ['the receiver of metadata', (file) => file.receivers['otlp/metadata'] ?? file.receivers['otlp'], ['inline']],
  ['the receiver of payloads', (file) => file.receivers['otlp/payload'], ['inline', 'one-port']],
  ['the memory limiter', (file) => file.processors['memory_limiter']],
  ['the filter that strips payloads', (file) => file.processors['filter/strip']],
  ['the attribute that is stripped', (file) => file.processors['attributes/strip']],
  ['the batches of metadata', (file) => file.processors['batch/metadata']],
  ['the filter of metrics', (file) => file.processors['filter/gen_ai']],
  // Inline, the key stands on the span.
  ['the guard of the key', (file) => file.processors['filter/key'], ['inline']],
  ['the fork to the backends', (file) => file.connectors['forward/backends']],
  ['the fork to the metrics', (file) => file.connectors['forward/gen_ai']],
  ['the metrics of spans', (file) => file.connectors['span_metrics']],
  ['the exporter of metrics', (file) => file.exporters['prometheus']],
  // Behind a queue on disk the exporters of metadata have one too.
  ['the exporter to Jaeger', (file) => file.exporters['otlp_http/jaeger'], ['inline', 'queue']],
  ['the exporter to Tempo', (file) => file.exporters['otlp_http/tempo'], ['inline', 'queue']],
  ['the collector’s own telemetry', (file) => file.service.telemetry],
  ['the processors of metadata', (file) => file.service.pipelines['traces/metadata']?.['processors']],
  ['the exporters of metadata', (file) => file.service.pipelines['traces/metadata']?.['exporters']],
  ['the backends that are named', (file) => file.service.pipelines['traces/backends']?.['exporters']],
  ['the way to the metrics of spans', (file) => file.service.pipelines['traces/gen_ai']],
  ['the processors of metrics', (file) => file.service.pipelines['metrics']?.['processors']],
  ['the exporters of metrics', (file) => file.service.pipelines['metrics']?.['exporters']],
];

it.each(BLOCKS)('%s is the same in every collector file', (_what, blockOf, others = []) => {
  const base = blockOf(files.collector);
  expect(base).toBeDefined();
  const same = NAMES.filter((name) => !others.includes(name));
  expect(same.map((name) => [name, blockOf(files[name])])).toEqual(same.map((name) => [name, base]));
  // What became equal is no exception any more.
  for (const name of others) expect([name, blockOf(files[name])]).not.toEqual([name, base]);
});

it('the two files with a queue share what is their own', () => {
  for (const id of ['otlp_http/jaeger', 'otlp_http/tempo', 'otlp_http/archiver']) {
    expect([id, files.inline.exporters[id]]).toEqual([id, files.queue.exporters[id]]);
  }
  expect(files.inline.extensions).toEqual(files.queue.extensions);
});

it('the guard of an inline key is that of the others, on the span', () => {
  const guard = JSON.stringify(files.collector.processors['filter/key']);
  expect(JSON.stringify(files.inline.processors['filter/key'])).toBe(
    guard.replace('resource.attributes', 'span.attributes'),
  );
});
