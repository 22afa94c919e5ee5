/**
 * Examples in README and docs that are marked `run` work as written. A block's info string is `js run`, `sh run`, or, for a
 * program that a later block starts, `js file=app.mjs`. The blocks of a page share a directory, and run in order.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Provider, startProvider } from './fixtures/provider/server.mjs';
import { inRepository } from './helpers/repository.ts';

interface Example {
  language: string;
  file: string | undefined;
  runs: boolean;
  code: string;
  line: number;
}

/** Fenced blocks with `run` or `file=` in their info string. */
function examplesIn(markdown: string): Example[] {
  const examples: Example[] = [];
  for (const match of markdown.matchAll(/^```(\w+) ([^\n]*)\n([\s\S]*?)^```$/gm)) {
    const [, language = '', info = '', code = ''] = match;
    const words = info.trim().split(/\s+/);
    const file = words.find((w) => w.startsWith('file='))?.slice(5);
    const runs = words.includes('run');
    const line = markdown.slice(0, match.index).split('\n').length;
    if (runs || file !== undefined) examples.push({ language, file, runs, code, line });
  }
  return examples;
}

const pages = ['README.md', ...markdownIn('docs'), ...markdownIn('packages')].filter((page) =>
  existsSync(inRepository(page)),
);

function markdownIn(directory: string): string[] {
  return readdirSync(inRepository(directory), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.includes('node_modules') && !name.includes('dist/'))
    .map((name) => `${directory}/${name}`)
    .sort();
}

const withExamples = pages
  .map((page) => ({ page, examples: examplesIn(readFileSync(inRepository(page), 'utf8')) }))
  .filter(({ examples }) => examples.length > 0);

function run(
  command: string,
  args: string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const keep = (text: string): void => {
      output += text;
    };
    child.stdout.setEncoding('utf8').on('data', keep);
    child.stderr.setEncoding('utf8').on('data', keep);
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output }));
  });
}

describe('examples in the documentation work', () => {
  let provider: Provider;
  let env: NodeJS.ProcessEnv;
  const directories: string[] = [];
  beforeAll(async () => {
    provider = await startProvider();
    env = {
      PATH: `${inRepository('node_modules/.bin')}:${process.env['PATH'] ?? ''}`,
      HOME: process.env['HOME'],
      OPENAI_API_KEY: 'sk-docs-not-a-real-key-0123456789',
      OPENAI_BASE_URL: `${provider.url}/v1`,
      PROVIDER_URL: `${provider.url}/v1`,
    };
  });
  afterAll(async () => {
    await provider.close();
    for (const directory of directories) rmSync(directory, { recursive: true, force: true });
  });

  it('there are some', () => {
    expect(withExamples.length).toBeGreaterThan(0);
  });

  it.each(withExamples)('$page', async ({ page, examples }) => {
    // Below node_modules, so that packages resolve by name as in a project that installed them.
    const cache = inRepository('node_modules/.cache');
    mkdirSync(cache, { recursive: true });
    const directory = mkdtempSync(join(cache, 'docs-'));
    directories.push(directory);
    let number = 0;
    for (const { language, file, runs, code, line } of examples) {
      number += 1;
      const extension = language === 'sh' || language === 'bash' ? 'sh' : 'mjs';
      const name = file ?? `example-${number}.${extension}`;
      writeFileSync(join(directory, basename(name)), code);
      if (!runs) continue;
      const [command, ...args] = extension === 'sh' ? ['bash', '-euo', 'pipefail', name] : [process.execPath, name];
      const { code: exit, output } = await run(command ?? '', args, directory, env);
      expect(exit, `${page}:${line}\n${output}`).toBe(0);
    }
  });
});
