/** The import fences are lint rules; these tests plant an import on the wrong side and see that the lint says so. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inRepository } from '../helpers/repository.ts';

function lint(file: string, source: string): { ok: boolean; output: string } {
  const directory = mkdtempSync(join(tmpdir(), 'orangebox-fence-'));
  try {
    mkdirSync(dirname(join(directory, file)), { recursive: true });
    copyFileSync(inRepository('.oxlintrc.json'), join(directory, '.oxlintrc.json'));
    writeFileSync(join(directory, file), source);
    const result = spawnSync(inRepository('node_modules/.bin/oxlint'), ['--deny-warnings'], {
      cwd: directory,
      encoding: 'utf8',
    });
    return { ok: result.status === 0, output: result.stdout };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const importing = (name: string): string =>
  `import * as all from '${name}';\n/** Planted. */\nexport const planted: unknown = all;\n`;

describe('a forbidden import is a lint error', () => {
  it.each([
    ['schema', '@orangebox/codec'],
    ['schema', 'node:fs'],
    ['codec', 'node:crypto'],
    ['codec', '@orangebox/store'],
    ['recorder', '@orangebox/instrument'],
    ['recorder', 'openai'],
    ['store', '@orangebox/recorder'],
    ['instrument', '@orangebox/store'],
    ['instrument', '@orangebox/replay'],
    ['instrument', '@opentelemetry/sdk-trace-node'],
    ['replay', '@orangebox/instrument'],
    ['replay', 'orangebox'],
    ['orangebox', '@orangebox/codec/dist/index.mjs'],
  ])('%s importing %s', (name, imported) => {
    const { ok, output } = lint(`packages/${name}/src/planted.ts`, importing(imported));
    expect(output).toContain('no-restricted-imports');
    expect(ok).toBe(false);
  });
});

describe('an import that points down is allowed', () => {
  it.each([
    ['codec', '@orangebox/schema'],
    ['recorder', '@orangebox/codec'],
    ['store', 'node:fs'],
    ['instrument', '@orangebox/recorder'],
    ['instrument', '@opentelemetry/api'],
    ['replay', '@orangebox/store'],
    ['orangebox', '@orangebox/replay'],
  ])('%s importing %s', (name, imported) => {
    const { ok, output } = lint(`packages/${name}/src/planted.ts`, importing(imported));
    expect(output).not.toContain('no-restricted-imports');
    expect(ok).toBe(true);
  });
});

it('browser-safe packages may not use Node.js globals', () => {
  const { output } = lint(
    'packages/codec/src/planted.ts',
    'export const planted: unknown = Buffer.from(process.version);\n',
  );
  expect(output).toContain('no-restricted-globals');
});
