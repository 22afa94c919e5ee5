import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { removeTree } from './remove-tree.ts';

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;
let base: string;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'obx-remove-'));
  for (const path of ['tree', 'tree/a', 'tree/a/b', 'beside']) mkdirSync(join(base, path));
  writeFileSync(join(base, 'tree/a/b/x.txt'), 'x');
  symlinkSync(join(base, 'beside'), join(base, 'tree/link'));
  // Rights do not bind who is root.
  if (isRoot)
    for (const path of ['', 'tree', 'tree/a', 'tree/a/b', 'beside']) chownSync(join(base, path), NOBODY, NOBODY);
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const asUser = <T>(work: () => T): T => {
  if (isRoot) process.seteuid?.(NOBODY);
  try {
    return work();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
};

it('a directory that a program left without the right to write in it is removed all the same, and nothing that it leads to', () => {
  for (const path of ['tree/a/b', 'tree/a', 'beside']) chmodSync(join(base, path), 0o500);
  expect(asUser(() => removeTree(join(base, 'tree')))).toBe(true);
  expect(existsSync(join(base, 'tree'))).toBe(false);
  expect(statSync(join(base, 'beside')).mode & 0o777).toBe(0o500);
});

it('one that cannot be removed is told of', () => {
  chmodSync(base, 0o500);
  expect(asUser(() => removeTree(join(base, 'tree')))).toBe(false);
  chmodSync(base, 0o700);
});
