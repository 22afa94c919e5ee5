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
  ['what a tool reads', 'changed_request', 'file', 2, { file: 'weather.json', from: '21', to: '25' }],
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
  // Prompts and parameters.
  ['an edited question', 'changed_request', 'code', 1, { from: 'or to Oslo', to: 'or to Riga' }],
  ['a word in capitals', 'changed_request', 'code', 6, { from: 'Sum it up.', to: 'SUM it up.' }],
  ['a blank more', 'changed_request', 'code', 1, { from: 'Be ${tone}. ', to: 'Be ${tone}.  ' }],
  ['another mark', 'changed_request', 'code', 7, { from: 'Give it a title.', to: 'Give it a title!' }],
  ['a line more', 'changed_request', 'code', 7, { from: "'Give it a title.'", to: "'Give it a title.\\nBe brief.'" }],
  ['another role', 'changed_request', 'code', 1, { from: "role: 'system'", to: "role: 'developer'" }],
  [
    'a message more',
    'changed_request',
    'code',
    1,
    {
      from: "  { role: 'user', content: 'Should",
      to: "  { role: 'user', content: 'Hello.' },\n  { role: 'user', content: 'Should",
    },
  ],
  ['a member less', 'changed_request', 'code', 1, { from: ', temperature: 0.5', to: '' }],
  ['a number by a little', 'changed_request', 'code', 1, { from: 'temperature: 0.5', to: 'temperature: 0.5000001' }],
  ['a number as text', 'changed_request', 'code', 1, { from: 'temperature: 0.5', to: "temperature: '0.5'" }],
  [
    'a flag',
    'changed_request',
    'code',
    1,
    { from: 'temperature: 0.5', to: 'temperature: 0.5, parallel_tool_calls: false' },
  ],
  [
    'a member that is null',
    'changed_request',
    'code',
    1,
    { from: 'temperature: 0.5', to: 'temperature: 0.5, stop: null' },
  ],
  ['a user', 'changed_request', 'code', 6, { from: "model: 'orange-2'", to: "user: 'me', model: 'orange-2'" }],
  ['the model of the turns', 'changed_request', 'code', 1, { from: "'orange-1'", to: "'orange-9'" }],
  ['a later question', 'changed_request', 'code', 3, { from: 'And on day', to: 'And for day' }],
  [
    'a count that is off by one',
    'changed_request',
    'code',
    6,
    { from: 'models.data.length', to: 'models.data.length + 1' },
  ],
  [
    'a header',
    'changed_request',
    'code',
    1,
    { from: 'new OpenAI()', to: "new OpenAI({ defaultHeaders: { 'x-team': 'orange' } })" },
  ],
  [
    'another path',
    'changed_request',
    'code',
    5,
    { from: 'client.models.list()', to: "client.models.list({ path: '/v2/models' })" },
  ],
  [
    'a query',
    'changed_request',
    'code',
    5,
    { from: 'client.models.list()', to: 'client.models.list({ query: { limit: 5 } })' },
  ],
  // Schemas.
  ['the name of a tool', 'changed_request', 'code', 1, { from: "name: 'get_weather'", to: "name: 'weather_of'" }],
  ['the type of a member', 'changed_request', 'code', 1, { from: "type: 'string'", to: "type: 'number'" }],
  ['a member that need not be', 'changed_request', 'code', 1, { from: "required: ['city']", to: 'required: []' }],
  [
    'a schema with a member more',
    'changed_request',
    'code',
    1,
    { from: "{ city: { type: 'string' } }", to: "{ city: { type: 'string' }, day: { type: 'string' } }" },
  ],
  [
    'a tool more',
    'changed_request',
    'code',
    1,
    { from: 'const tools = [', to: "const tools = [{ type: 'function', function: { name: 'noop', parameters } }, " },
  ],
  [
    'a strict schema',
    'changed_request',
    'code',
    1,
    { from: "description: 'The weather', parameters", to: "description: 'The weather', parameters, strict: true" },
  ],
  // What tools give, and what they read.
  [
    'a tool with a member more',
    'changed_request',
    'tool_result',
    2,
    { file: 'tools.mjs', from: "sky: 'clear'", to: "sky: 'clear', wind: 3" },
  ],
  [
    'a tool with another name for it',
    'changed_request',
    'tool_result',
    2,
    { file: 'tools.mjs', from: 'sky:', to: 'weather:' },
  ],
  [
    'a tool that gives a number as text',
    'changed_request',
    'tool_result',
    2,
    { file: 'tools.mjs', from: 'known.degrees,', to: 'String(known.degrees),' },
  ],
  [
    'a tool that converts',
    'changed_request',
    'tool_result',
    2,
    { file: 'tools.mjs', from: 'known.degrees,', to: 'known.degrees * 2,' },
  ],
  ['a number that a tool reads', 'changed_request', 'file', 2, { file: 'weather.json', from: '21', to: '21.5' }],
  ['a file that is empty of it', 'changed_request', 'file', 2, { file: 'weather.json', from: '21', to: 'null' }],
  [
    'a file of the prompt',
    'changed_request',
    'file',
    1,
    { file: 'brief.txt', from: 'You plan trips.', to: 'You plan journeys.' },
  ],
  [
    'a file with a line more',
    'changed_request',
    'file',
    1,
    { file: 'brief.txt', from: 'You plan trips.', to: 'You plan trips.\nBriefly.' },
  ],
  // Environment and clock.
  ['a variable with a word more', 'changed_request', 'environment', 1, { env: { TONE: 'kind and brief' } }],
  ['a variable that was not there', 'changed_request', 'environment', 3, { env: { TOPIC: 'music' } }],
  [
    'a time zone',
    'changed_request',
    'code',
    6,
    { from: 'started.toISOString()', to: "started.toLocaleString('en', { timeZone: 'Asia/Tokyo' })" },
  ],
  [
    'a timer that was not there',
    'missing',
    'missing',
    6,
    { from: 'await ask(`Sum', to: "await new Promise((r) => setTimeout(r, 5)).then(() => ask('x')) && await ask(`Sum" },
  ],
  // Order, more and less.
  [
    'the first two asked in turn',
    'reordered',
    'order',
    5,
    {
      from: 'const models = await client.models.list();',
      to: "const early = await ask('Give it a title.');\nconst models = await client.models.list();",
    },
  ],
  ['a turn more', 'extra', 'extra', 5, { from: 'turn < 4', to: 'turn < 5' }],
  ['a turn less', 'reordered', 'order', 4, { from: 'turn < 4', to: 'turn < 3' }],
  [
    'a request more at the end',
    'extra',
    'extra',
    8,
    { from: 'console.log(summary', to: "await ask('Thank you.');\nconsole.log(summary" },
  ],
  [
    'the last request again',
    'extra',
    'extra',
    8,
    { from: 'console.log(summary', to: "await ask('Give it a title.');\nconsole.log(summary" },
  ],
  ['an end after the turns', 'missing', 'missing', 5, { from: 'const models', to: 'process.exit(0);\nconst models' }],
  [
    'an exception after the turns',
    'missing',
    'missing',
    5,
    { from: 'const models', to: "throw new Error('no more');\nconst models" },
  ],
  [
    'a wait for ever',
    'missing',
    'missing',
    6,
    {
      from: 'const summary',
      to: 'const hold = setInterval(() => {}, 1e9);\nawait new Promise(() => {});\nconst summary',
    },
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

  it('names the timer that a program waits for in vain', async () => {
    const wait = 'await new Promise((r) => setTimeout(r, 5));';
    const { receipt } = await replay({ from: 'const summary', to: `${wait}\nconst summary` });
    expect(receipt.divergence?.summary).toMatch(
      /; a timeout of 5 ms \(agent\.mjs:33:\d+\), which never fired on record, waits/,
    );
  });
});
