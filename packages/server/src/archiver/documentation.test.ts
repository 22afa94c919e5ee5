import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { startBench } from '../testing/archiver-bench.ts';

const page = readFileSync(new URL('../../../../docs/archiver.md', import.meta.url), 'utf8');
const source = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8');

it('names every metric that there is, and no other', async () => {
  const { archiver } = await startBench({ index: false });
  const text = await archiver.metrics();
  await archiver.stop();
  const there = [...text.matchAll(/^# TYPE (orangebox_archiver_\w+)/gm)].map(([, name]) => name);
  const named = new Set([...page.matchAll(/`(orangebox_archiver_\w+)`/g)].map(([, name]) => name));
  expect([...named].sort()).toEqual(there.sort());
});

it('names every variable that is read, and no other', () => {
  const read = new Set(source('../config.ts').match(/ORANGEBOX_[A-Z_]+/g));
  const table = page.slice(page.indexOf('## Options'), page.indexOf('## What is stored'));
  expect([...new Set(table.match(/ORANGEBOX_[A-Z_]+/g))].sort()).toEqual([...read].sort());
});

it('explains every reason of the quarantine', () => {
  const reasons = /export type FaultReason =([^;]+);/.exec(source('payload.ts'))?.[1]?.match(/\w+/g) ?? [];
  const table = page.slice(page.indexOf('| reason |'), page.indexOf('Claims are cut'));
  expect(reasons.length).toBeGreaterThan(5);
  expect(reasons.filter((reason) => !table.includes(`\`${reason}\``))).toEqual([]);
});
