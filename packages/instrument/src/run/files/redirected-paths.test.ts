import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  promises,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { redirectPaths } from './redirected-paths.ts';

let base: string;
let original: string;
let copy: string;
let undo: () => void;

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'obx-redirected-')));
  original = join(base, 'app');
  copy = join(base, 'app', 'inner-copy');
  for (const directory of [original, copy, join(original, '.orangebox'), join(base, 'app2')]) mkdirSync(directory);
  writeFileSync(join(original, 'a.txt'), 'original');
  writeFileSync(join(copy, 'a.txt'), 'copy');
  undo = redirectPaths({ from: [original], to: copy, except: [join(original, '.orangebox')] });
});
afterEach(() => {
  undo();
  rmSync(base, { recursive: true, force: true });
});

describe('a path in the original', () => {
  it('leads to the copy, however it is written and whoever asks', async () => {
    const path = join(original, 'a.txt');
    const url = pathToFileURL(path);
    expect(fs.readFileSync(path, 'utf8')).toBe('copy');
    expect(fs.readFileSync(url, 'utf8')).toBe('copy');
    expect(fs.readFileSync(Buffer.from(path), 'utf8')).toBe('copy');
    expect(fs.readFileSync(`${base}/x/../app/./a.txt`, 'utf8')).toBe('copy');
    expect(await promises.readFile(path, 'utf8')).toBe('copy');
    expect(await promisify(fs.readFile)(path, 'utf8')).toBe('copy');
    expect(Buffer.concat(await fs.createReadStream(path).toArray()).toString()).toBe('copy');
    expect(await promisify(fs.exists)(join(original, 'none.txt'))).toBe(false);
    expect(fs.realpathSync.native(path)).toBe(join(copy, 'a.txt'));
    expect(fs.readdirSync(`${original}/`)).toEqual(['a.txt']);
  });

  it('is written to in the copy only', async () => {
    fs.writeFileSync(join(original, 'a.txt'), 'written');
    await promises.appendFile(join(original, 'a.txt'), ' more');
    fs.copyFileSync(join(original, 'a.txt'), join(original, 'b.txt'));
    fs.renameSync(join(original, 'b.txt'), join(original, 'c.txt'));
    fs.symlinkSync(join(original, 'c.txt'), join(original, 'link'));
    fs.mkdirSync(join(original, 'd', 'e'), { recursive: true });
    undo();
    expect(readFileSync(join(original, 'a.txt'), 'utf8')).toBe('original');
    expect(fs.readdirSync(original).sort()).toEqual(['.orangebox', 'a.txt', 'inner-copy']);
    expect(fs.readdirSync(copy).sort()).toEqual(['a.txt', 'c.txt', 'd', 'link']);
    expect(readFileSync(join(copy, 'link'), 'utf8')).toBe('written more');
  });

  it('is left where it is no other: in the copy, among the recordings, beside it', () => {
    for (const path of [join(copy, 'x'), join(original, '.orangebox', 'x'), join(base, 'app2', 'x')]) {
      fs.writeFileSync(path, 'x');
      undo();
      expect(existsSync(path)).toBe(true);
      undo = redirectPaths({ from: [original], to: copy, except: [join(original, '.orangebox')] });
    }
  });

  it('changes nothing of the functions that a program can see, and is gone afterwards', () => {
    expect([fs.readFileSync.name, fs.readFileSync.length]).toEqual(['readFileSync', 2]);
    undo();
    expect(fs.readFileSync(join(original, 'a.txt'), 'utf8')).toBe('original');
    copyFileSync(join(original, 'a.txt'), join(original, 'b.txt'));
    renameSync(join(original, 'b.txt'), join(original, 'c.txt'));
    expect(existsSync(join(original, 'c.txt'))).toBe(true);
  });
});
