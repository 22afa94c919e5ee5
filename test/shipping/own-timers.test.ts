/** A program that put its own timers and clock in the place of the platform's: nothing of ours uses them, or trusts them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startProvider } from '../fixtures/provider/server.mjs';
import { finished } from '../helpers/finished.ts';
import { inRepository } from '../helpers/repository.ts';

it('runs as without us, ships nothing by its timers, and keeps a secret that came later off the disk', async () => {
  const provider = await startProvider();
  // Slow enough that a look after the end of the program would be planned.
  const receiver = createServer((request, response) => {
    request.resume().on('end', () => setTimeout(() => response.writeHead(200).end(), 400));
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const dir = mkdtempSync(join(tmpdir(), 'orangebox-own-timers-'));
  try {
    const { port } = receiver.address() as AddressInfo;
    const program = inRepository('test/shipping/own-timers.cjs');
    const register = inRepository('packages/orangebox/dist/register.cjs');
    const run = (args: string[], env: Record<string, string>) =>
      finished(
        spawn(process.execPath, [...args, program, provider.url], {
          env: { PATH: process.env['PATH'], ...env },
          stdio: ['ignore', 'pipe', 'pipe'],
        }),
      );
    const without = await run([], {});
    const withUs = await run(['--require', register], {
      ORANGEBOX_DIR: dir,
      ORANGEBOX_ENDPOINT: `http://127.0.0.1:${port}`,
    });
    expect(withUs).toEqual(without);
    expect(withUs).toMatchObject({ code: 0, stdout: 'done 0\n' });
    const segments = readdirSync(dir, { recursive: true, withFileTypes: true }).filter(({ name }) =>
      name.endsWith('.obxs'),
    );
    expect(segments.length).toBeGreaterThan(0);
    for (const { parentPath, name } of segments) {
      const bytes = readFileSync(join(parentPath, name));
      expect(bytes.includes('second, with {{secret:env.LATE_SECRET}}')).toBe(true);
      expect(bytes.includes('planted-late-0123456789abcdef')).toBe(false);
    }
  } finally {
    receiver.closeAllConnections();
    receiver.close();
    await provider.close();
    rmSync(dir, { recursive: true, force: true });
  }
});
