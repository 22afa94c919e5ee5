import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';

const dir = mkdtempSync(join(tmpdir(), 'orangebox-exit-'));
afterEach(() => rmSync(dir, { recursive: true, force: true }));

it('a call is finished even when the process exits before the rest of the recorder was loaded', () => {
  const program = fileURLToPath(new URL('./exit-at-once.cjs', import.meta.url));
  const output = execFileSync(process.execPath, [program], { env: { ...process.env, ORANGEBOX_DIR: dir } });
  expect(JSON.parse(String(output))).toMatchObject({ calls: 1, open: 0, faults: {} });
});
