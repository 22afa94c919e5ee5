import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { inRepository, packageNames } from '../helpers/repository.ts';

/** The beginning of a key as code writes it; in messages a date in brackets or dots follow. */
const WRITTEN = /['"`]v1\/(?:['"`]|\$\{)|join\([^()]*'v1'/;

it('is the schema package alone that writes the prefix of snapshots', () => {
  const readers = packageNames.filter((name) => name !== 'schema');
  const files = readers.flatMap((name) =>
    readdirSync(inRepository(`packages/${name}/src`), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => join('packages', name, 'src', file)),
  );
  expect(files.length).toBeGreaterThan(100);
  const writers = files.filter(
    (file) => !/\.test\.ts$|\/testing\//.test(file) && WRITTEN.test(readFileSync(inRepository(file), 'utf8')),
  );
  expect(writers).toEqual([]);
});
