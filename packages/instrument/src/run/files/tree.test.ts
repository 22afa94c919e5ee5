import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { MAX_TREE_ENTRIES, seeTree } from './tree.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'obx-tree-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

it('a directory of too many files is looked at from above, and the rest left out', () => {
  mkdirSync(join(root, 'data', 'deep'), { recursive: true });
  for (let i = 0; i < MAX_TREE_ENTRIES; i++) writeFileSync(join(root, 'data', 'deep', String(i)), '');
  mkdirSync(join(root, 'src'));
  writeFileSync(join(root, 'src', 'agent.mjs'), '');
  const { entries, isWhole } = seeTree(root);
  expect(isWhole).toBe(false);
  expect(entries.size).toBe(MAX_TREE_ENTRIES);
  expect([...entries.keys()].slice(0, 4)).toEqual(['data', 'src', 'data/deep', 'src/agent.mjs']);
});

it('a directory that is too deep is left out from some depth on', () => {
  mkdirSync(join(root, ...Array.from({ length: 40 }, () => 'd')), { recursive: true });
  const { entries, isWhole } = seeTree(root);
  expect([isWhole, entries.size]).toEqual([false, 33]);
});

it('what is gone, or not ours to read, is not there', () => {
  expect(seeTree(join(root, 'none'))).toEqual({ entries: new Map(), isWhole: true });
});
