/** What a package exports is a promise. Each name is listed in `public-exports/`; a change shows up in review. */
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { inRepository, packageNames } from '../helpers/repository.ts';

/** Names in the closing export list of the built type declarations: values and types. */
function exportedNames(declarations: string): string[] {
  const list = /export \{([^}]*)\};?\s*$/.exec(declarations)?.[1] ?? '';
  return list
    .split(',')
    .map((name) => name.trim())
    .map((name) => name.replace(/^(type )?.* as /, '$1'))
    .filter(Boolean)
    .sort((a, b) => a.replace('type ', '').localeCompare(b.replace('type ', ''), 'en'));
}

/** Entries with declarations: `schema`, and `recorder/recovery` for a way into a package beside its first. */
const entries = packageNames.flatMap((name) => {
  const { exports } = JSON.parse(readFileSync(inRepository(`packages/${name}/package.json`), 'utf8')) as {
    exports: Record<string, string | { import?: { types?: string } }>;
  };
  return Object.entries(exports).flatMap(([path, entry]): [entry: string, declarations: string][] => {
    const types = typeof entry === 'string' ? undefined : entry.import?.types;
    return types === undefined ? [] : [[name + path.slice(1), `packages/${name}/${types}`]];
  });
});

describe('the exports of each package are those listed', () => {
  it.each(entries)('%s', async (entry, declarations) => {
    const file = inRepository(declarations);
    expect(existsSync(file), 'run npm run build first').toBe(true);
    const names = exportedNames(readFileSync(file, 'utf8'));
    expect(names.length).toBeGreaterThan(0);
    await expect(`${names.join('\n')}\n`).toMatchFileSnapshot(`public-exports/${entry.replace('/', '.')}.txt`);
  });
});
