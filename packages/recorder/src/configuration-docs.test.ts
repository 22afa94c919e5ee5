import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');

it('every variable that the recorder and the preload read stands in the table', () => {
  const docs = read('../../../docs/configuration.md');
  const sources = [read('./config.ts'), read('../../instrument/src/config.ts')].join('\n');
  const names = new Set(sources.match(/'(?:ORANGEBOX|OTEL)_[A-Z_]+'/g)?.map((name) => name.slice(1, -1)));
  expect(names.size).toBeGreaterThan(20);
  for (const name of names) expect(docs).toContain(`\`${name}\``);
});
