import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { KNOWN_VARIABLES } from './known-variables.ts';

const ROOT = new URL('../../../../../', import.meta.url);
const COLLECTOR_FILES = readdirSync(new URL('collector-config/', ROOT)).map((name) => `collector-config/${name}`);

it.each([...COLLECTOR_FILES, 'deploy/compose.yaml'])('knows every variable that stands in %s', (name) => {
  const text = readFileSync(new URL(name, ROOT), 'utf8');
  const used = [...text.matchAll(/\bORANGEBOX_[A-Z0-9_]+/g)].map(([variable]) => variable);
  // The archiver checks its own.
  expect(used.filter((v) => !v.startsWith('ORANGEBOX_ARCHIVE_') && !KNOWN_VARIABLES.includes(v))).toEqual([]);
});
