/** One thing is changed between a recording and its replay: is it found where it is, and for what it is? */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Receipt } from '@orangebox/replay';
import { startCli } from '../cli/spawn.ts';
import { startProvider } from '../fixtures/provider/server.mjs';
import { inRepository } from '../helpers/repository.ts';

const KEY = 'sk-causes-0123456789abcdefghij';
const directory = mkdtempSync(join(tmpdir(), 'obx-causes-'));
const inDirectory = (file: string): string => join(directory, file);
const original = (file: string): string =>
  readFileSync(inRepository(`test/run-replay/programs/causes/${file}`), 'utf8');
const env: { [name: string]: string } = { OPENAI_API_KEY: KEY, TONE: 'kind', ORANGEBOX_RUN_ENV: 'TONE' };
let runId = '';

beforeAll(async () => {
  cpSync(inRepository('test/run-replay/programs/causes'), directory, { recursive: true });
  symlinkSync(inRepository('node_modules'), inDirectory('node_modules'));
  const provider = await startProvider({ script: '' });
  env['OPENAI_BASE_URL'] = `${provider.url}/v1`;
  try {
    const words = ['run', '--replayable', '--', process.execPath, 'agent.mjs'];
    const { stderr } = await startCli(words, { cwd: directory, env }).ended;
    runId = /recorded (run-[0-9a-f]{12})/.exec(stderr)?.[1] ?? '';
  } finally {
    await provider.close();
  }
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Replays with one file or some variables changed, and puts the file back. */
async function replay(change: Change): Promise<{ receipt: Receipt; said: string }> {
  const { file = 'agent.mjs', from = '', to = '' } = change;
  if (from !== '') expect(original(file)).toContain(from);
  writeFileSync(inDirectory(file), original(file).replace(from, to));
  const words = ['replay', runId, '--receipt', 'receipt.json', '--', process.execPath, 'agent.mjs'];
  const { stderr } = await startCli(words, { cwd: directory, env: { ...env, ...change.env } }).ended;
  writeFileSync(inDirectory(file), original(file));
  return { receipt: JSON.parse(readFileSync(inDirectory('receipt.json'), 'utf8')) as Receipt, said: stderr };
}

interface Change {
  file?: string;
  from?: string;
  to?: string;
  env?: { [name: string]: string };
}

/** Steps: 1 to 4 the turns, 5 the models, 6 the summary, 7 the title. */
const causes: [name: string, kind: string, cause: string, step: number, change: Change][] = [
  ['an edited prompt', 'changed_request', 'code', 1, { from: 'Be ${tone}.', to: 'Be very ${tone}.' }],
  ['an edited schema', 'changed_request', 'code', 1, { from: "'The weather'", to: "'The weather of a city'" }],
  ['a parameter', 'changed_request', 'code', 1, { from: 'temperature: 0.5', to: 'temperature: 0.7' }],
  ['a member more', 'changed_request', 'code', 1, { from: 'temperature: 0.5', to: 'temperature: 0.5, seed: 1' }],
  ['a later prompt', 'changed_request', 'code', 6, { from: 'Sum it up.', to: 'Sum it all up.' }],
  ['another model', 'changed_request', 'code', 6, { from: "'orange-2'", to: "'orange-3'" }],
  ['an edited tool', 'changed_request', 'tool_result', 2, { file: 'tools.mjs', from: "'clear'", to: "'cloudy'" }],
  ['what a tool reads', 'changed_request', 'tool_result', 2, { file: 'weather.json', from: '21', to: '25' }],
  ['a variable on record', 'changed_request', 'environment', 1, { env: { TONE: 'grumpy' } }],
  ['a variable by its hash', 'changed_request', 'environment', 3, { env: { TOPIC: 'food' } }],
  ['another host', 'changed_request', 'environment', 1, { env: { OPENAI_BASE_URL: 'http://127.0.0.1:59321/v1' } }],
  ['a request more', 'extra', 'extra', 1, { from: 'for (let turn', to: 'await client.files.list();\nfor (let turn' }],
  [
    'the same request twice',
    'extra',
    'extra',
    6,
    { from: 'const summary', to: 'await client.models.list();\nconst summary' },
  ],
  ['an order', 'reordered', 'order', 6, { from: 'const summary', to: "await ask('Give it a title.');\nconst summary" }],
  ['an early end', 'missing', 'missing', 7, { from: 'const title', to: 'process.exit(0);\nconst title' }],
  [
    'a clock that is asked elsewhere',
    'changed_request',
    'code',
    6,
    { from: 'started.toISOString()', to: 'new Date(0).toISOString()' },
  ],
];

describe('a divergence', () => {
  it('is none where nothing changed', async () => {
    expect((await replay({})).receipt).toMatchObject({ verdict: 'replayed', served: 7, missing: 0 });
  });

  it.each(causes)('is found: %s', async (_name, kind, cause, step, change) => {
    const { receipt, said } = await replay(change);
    const { divergence } = receipt;
    expect({ kind: divergence?.kind, cause: divergence?.cause, step: divergence?.step }).toEqual({ kind, cause, step });
    expect(receipt).toMatchObject({ verdict: 'diverged', exitCode: 10, liveConnections: 0 });
    expect(JSON.stringify(receipt) + said).not.toContain(KEY);
  });

  it('names the variable that a new word came from', async () => {
    const { receipt } = await replay({ env: { TONE: 'grumpy' } });
    expect(receipt.divergence?.origins).toContainEqual(
      expect.objectContaining({ side: 'live', value: 'grumpy', where: 'environment variable TONE' }),
    );
  });
});
