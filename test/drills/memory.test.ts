/** A sample of `npm run drill:memory`, which streams a gigabyte. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { measureCase, memoryCases } from './memory/cases.mjs';

const script = fileURLToPath(new URL('memory/server.mjs', import.meta.url));
const server = spawn(process.execPath, [script], { stdio: ['pipe', 'pipe', 'inherit'] });
let url = '';

beforeAll(async () => {
  const [line] = await once(server.stdout.setEncoding('utf8'), 'data');
  url = String(line).trim();
});
afterAll(() => void server.stdin.end());

// Read back, joined and made into text, this body once added 180 MiB.
it('an answer of 80 MiB that is recorded to its limit of 64 MiB stays within the bound of memory', async () => {
  const [plain] = memoryCases({ bytes: 80 * 2 ** 20, calls: 1 });
  expect(plain?.name).toBe('plain, recorded');
  if (!plain) return;
  const { wrong, addedBytes } = await measureCase(plain, url);
  expect(wrong).toEqual([]);
  expect(addedBytes).toBeGreaterThan(0);
});
