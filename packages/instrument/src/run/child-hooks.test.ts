import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import { hookChildren } from './child-hooks.ts';
import type { ChildPort, SyncChildStart } from './ports.ts';

const texts: [input: string, options: { encoding?: BufferEncoding }][] = [
  ['Grüße', {}],
  ['Grüße', { encoding: 'utf8' }],
  ['4f72', { encoding: 'hex' }],
];

it.each(texts)('gives a child that is waited for the text %s as the platform does with %o', (input, options) => {
  const expected = spawnSync('cat', [], { input, ...options });
  const started: SyncChildStart[] = [];
  const port: ChildPort = {
    spawn: (_child, _start, real) => real(),
    runSync: (start, real) => {
      started.push(start);
      return real();
    },
  };
  const undo = hookChildren(port, undefined);
  try {
    const { spawnSync: hooked } = createRequire(import.meta.url)('node:child_process') as {
      spawnSync: typeof spawnSync;
    };
    const { stdout, status } = hooked('cat', [], { input, ...options });
    expect({ stdout, status }).toEqual({ stdout: expected.stdout, status: 0 });
  } finally {
    undo();
  }
  const [start] = started;
  expect(Buffer.from(start?.input ?? []).toString(options.encoding ?? 'utf8')).toBe(input);
});
