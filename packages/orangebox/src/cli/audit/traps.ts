/** Directories with links where Orangebox writes: whoever follows one writes outside. */
import { mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Finding } from './findings.ts';

/** A prepared directory of recordings. */
export interface Trap {
  name: string;
  dir: string;
  /** What was written there, if anything. */
  sprung(): Finding[];
}

/** Lays them out below a directory. */
export function layTraps(below: string, nowMs: number): Trap[] {
  const date = new Date(nowMs).toISOString().slice(0, 10);
  return [
    trap(below, 'segments', (dir, target) => symlinkSync(target, join(dir, 'segments'))),
    trap(below, 'date', (dir, target) => {
      mkdirSync(join(dir, 'segments'), { mode: 0o700 });
      symlinkSync(target, join(dir, 'segments', date));
    }),
    trap(below, '.gitignore', (dir, target) => symlinkSync(join(target, 'ignored'), join(dir, '.gitignore'))),
  ];
}

function trap(below: string, name: string, set: (dir: string, target: string) => void): Trap {
  const dir = join(below, `trap-${name}`);
  const target = join(below, `target-${name}`);
  mkdirSync(dir, { mode: 0o700 });
  mkdirSync(target, { mode: 0o700 });
  set(dir, target);
  const sentinel = join(target, '.sentinel');
  writeFileSync(sentinel, '', { mode: 0o600 });
  return {
    name,
    dir,
    sprung: () =>
      readdirSync(target).length === 1 && statSync(sentinel).size === 0
        ? []
        : [
            {
              kind: 'file',
              message: `the link ${name} in the directory of recordings was followed, and written behind it`,
            },
          ],
  };
}
