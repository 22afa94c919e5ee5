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

describe('the exports of each package are those listed', () => {
  it.each(packageNames)('%s', async (name) => {
    const file = inRepository(`packages/${name}/dist/index.d.mts`);
    expect(existsSync(file), 'run npm run build first').toBe(true);
    const names = exportedNames(readFileSync(file, 'utf8'));
    expect(names.length).toBeGreaterThan(0);
    await expect(`${names.join('\n')}\n`).toMatchFileSnapshot(`public-exports/${name}.txt`);
  });
});
