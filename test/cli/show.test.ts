/** What a person reads, and that nothing recorded can act on the terminal. */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { snapshotKey } from '@orangebox/schema';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AgentRun, chatAnswer, Recording, writeAgentRun } from './recordings.ts';
import { cli } from './spawn.ts';

let cwd: string;
let run: AgentRun;

beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'obx-cli-show-'));
  run = writeAgentRun(join(cwd, '.orangebox'));
});

afterAll(() => rmSync(cwd, { recursive: true, force: true }));

const out = (...args: string[]): string => {
  const result = cli(args, { cwd });
  expect(result.stderr).toBe('');
  expect(result.code).toBe(0);
  return result.stdout;
};

describe('orangebox alone', () => {
  it('counts calls, sessions and failures, and names the last problem with the command that shows it', () => {
    const text = out();
    expect(text).toMatch(/4 calls · 1 session · 1 tool run · 1 failed · 0 lost/);
    expect(text).toMatch(/last problem {2}gpt-4o 401 .*Incorrect API key provided/);
    expect(text).toContain(`orangebox show ${run.failed.id.slice(0, 6)}`);
  });

  it('counts what was not sent where something was', () => {
    const partly = mkdtempSync(join(tmpdir(), 'obx-cli-shipped-'));
    const recording = new Recording(join(partly, '.orangebox'));
    const sent = recording.call({});
    recording.call({ agoMs: 30_000 });
    recording.add({ type: 'shipped', key: snapshotKey(sent) });
    recording.write();
    expect(cli([], { cwd: partly }).stdout).toContain('0 lost · 1 not sent');
    const doctor = cli(['doctor'], { cwd: partly }).stdout;
    expect(doctor).toContain('1 acknowledged, 1 not yet');
    expect(doctor).toContain(`orangebox recover ${join(partly, '.orangebox')}`);
    rmSync(partly, { recursive: true });
  });

  it('counts what the endpoint refused apart from what was not sent', () => {
    const partly = mkdtempSync(join(tmpdir(), 'obx-cli-refused-'));
    const recording = new Recording(join(partly, '.orangebox'));
    const [sent, refused] = [recording.call({}), recording.call({ agoMs: 30_000 })];
    recording.add({ type: 'shipped', key: snapshotKey(sent) });
    recording.add({ type: 'quarantined', key: snapshotKey(refused), reason: 'status 413', atUnixNano: '1' });
    recording.write();
    expect(cli([], { cwd: partly }).stdout).toMatch(/0 lost · 1 refused by the endpoint\n/);
    rmSync(partly, { recursive: true });
  });

  it('says how to begin where nothing is recorded', () => {
    const empty = mkdtempSync(join(tmpdir(), 'obx-cli-empty-'));
    const result = cli([], { cwd: empty });
    expect(result.stdout).toContain('node --require orangebox/register app.js');
    expect(result.code).toBe(0);
    rmSync(empty, { recursive: true });
  });

  it('names commands as they can be typed under npx', () => {
    const { stdout } = cli([], { cwd, env: { npm_command: 'exec' } });
    expect(stdout).toContain(`npx orangebox show ${run.failed.id.slice(0, 6)}`);
  });

  it('gives the same as JSON', () => {
    expect(JSON.parse(out('--json'))).toMatchObject({ calls: 4, sessions: 1, failed: 1, lost: 0 });
  });
});

describe('ls', () => {
  it('gives one line of tab-separated fields a call off a terminal, newest first', () => {
    const lines = out('ls')
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t'));
    expect(lines).toHaveLength(5);
    expect(new Set(lines.map((fields) => fields.length))).toEqual(new Set([14]));
    const second = lines.find((fields) => run.second.id.startsWith(fields[0] ?? '-'));
    expect(second).toEqual([
      run.second.id.slice(0, 6),
      expect.stringMatching(/^\d{4}-.*Z$/),
      'trip-7',
      '2',
      'planner',
      'gpt-4o-mini',
      '200',
      '2',
      '812',
      '64',
      '340',
      '2740',
      '',
      'exact',
    ]);
    expect(lines.at(-1)?.[12]).toBe('get_weather ×2');
  });

  it.each([
    [['--status', '401'], 1],
    [['--status', 'error'], 1],
    [['--model', 'MINI'], 3],
    [['--tool', 'get_weather'], 2],
    [['--session', 'trip-7'], 3],
    [['--session', 'trip-7', '--kind', 'llm'], 2],
    [['--user', 'mia', '--kind', 'tool'], 1],
    [['--text', 'UMBRELLA'], 2],
    [['--since', '4m'], 2],
    [['--until', '4m'], 3],
    [['-n', '2'], 2],
    [['-n', '0'], 5],
    [['--model', 'no-such-model'], 0],
  ])('%j leaves %i', (filter, count) => {
    expect(JSON.parse(out('ls', '--json', ...filter))).toHaveLength(count);
  });
});

describe('show', () => {
  it('shows only what is new since the call before, and where the rest is', () => {
    const text = out('show', run.second.id);
    expect(text).not.toContain('umbrella');
    expect(text).toContain(`… 3 messages as in ${run.first.id.slice(0, 6)} (--all shows them)`);
    expect(text).toMatch(/tool result get_weather {2}call_oslo\n {2}\{"rain":true,"temperature":4\}/);
    expect(text).toMatch(/▌assistant\n {2}Take one to Oslo\.\n\n {2}Leave it at home for Rome\./);
  });

  it('shows the whole conversation with --all', () => {
    const text = out('show', run.second.id, '--all');
    expect(text).toContain('umbrella');
    expect(text).toContain('→ get_weather(city: "Oslo", unit: "celsius")  call_oslo');
    expect(text).not.toContain('as in');
  });

  it('shows each attempt with what the server said and the wait before it', () => {
    const text = out('show', run.second.id);
    expect(text).toMatch(/1 {2}429 {2}took 1\.24s {2}Rate limit reached\n {2}2 {2}200 {2}took 1\.24s {2}after 260ms/);
  });

  it('says what to do about a failure', () => {
    const text = out('show', run.failed.id);
    expect(text).toMatch(
      /failed {2}401 Unauthorized\n {2}Incorrect API key provided\n {2}invalid_request_error, invalid_api_key\n {2}next: .*API key/,
    );
  });

  it('puts a streamed answer together', () => {
    const text = out('show', run.streamed.id);
    expect(text).toMatch(/▌assistant\n {2}one two three/);
    expect(text).toMatch(/first chunk after 340ms · 5 chunks/);
  });

  it('shows the calls of a session, and of a trace, in order', () => {
    for (const reference of [run.sessionId, run.first.trace.traceId]) {
      const text = out('show', reference);
      const places = [run.first, run.tool, run.second].map((s) => text.indexOf(`  ${s.id.slice(0, 6)}  `));
      expect(places).toEqual([...places].sort((a, b) => a - b));
      expect(places[0]).toBeGreaterThan(0);
      expect(text).toMatch(/2 calls · 1 tool run · .*1\.6k tokens in, 128 out/);
      expect(text.match(/umbrella/g)).toHaveLength(1);
    }
  });

  it('shows after a call what the tools it asked for gave, in the order asked', () => {
    const text = out('show', run.first.id);
    expect(text).toMatch(/▌then .*\n.*call_oslo\n.*"rain":true.*\n.*call_rome\n.*"rain":false/);
    expect(JSON.parse(out('show', run.first.id, '--json'))).toMatchObject({
      toolExecutions: [{ name: 'get_weather' }, { name: 'get_weather' }],
    });
  });

  it('shows a tool run with its arguments and result', () => {
    const text = out('show', run.tool.id);
    expect(text).toContain('→ get_weather(city: "Oslo")  call_oslo');
    expect(text).toContain('{"rain":true,"temperature":4}');
  });

  it('takes every kind of reference to the same call', () => {
    const { id, trace } = run.second;
    const file = join(cwd, 'second.json');
    expect(out('fetch', id, '-o', file).trim()).toBe(file);
    const key =
      (JSON.parse(out('ls', '--json', '--model', 'mini')) as { key: string; trace: { spanId: string } }[]).find(
        (e) => e.trace.spanId === id,
      )?.key ?? '';
    const references = [
      id,
      id.slice(0, 6),
      id.toUpperCase(),
      key,
      key.replace('v1/', 'v1//'),
      `${trace.traceId}-${id}`,
      file,
      './second.json',
    ];
    for (const reference of references) expect(out('show', reference), reference).toContain('Take one to Oslo.');
    expect(out('show', 'last')).toContain('Incorrect API key');
  });

  it('gives bytes, messages and commands in their own forms', () => {
    expect(out('show', run.streamed.id, '--raw')).toMatch(/^data: \{.*\n\n.*data: \[DONE\]\n\n$/s);
    expect(JSON.parse(out('show', run.first.id, '--raw', '--request'))).toMatchObject({ model: 'gpt-4o-mini' });
    expect(JSON.parse(out('show', run.first.id, '--json'))).toMatchObject({
      schema: 'orangebox.snapshot/1',
      id: run.first.id,
      digest: run.first.digest,
    });
    expect(JSON.parse(out('show', run.sessionId, '--json'))).toHaveLength(3);
    const http = out('show', run.second.id, '--http');
    expect(http).toMatch(/^# attempt 1 of 2\nPOST https:\/\/api\.openai\.com\/v1\/chat\/completions HTTP\/1\.1\n/);
    expect(http).toContain('HTTP/1.1 429 Too Many Requests\nretry-after: 1\n');
    expect(out('show', run.first.id, '--curl')).toContain(`--header 'authorization: Bearer '"$OPENAI_API_KEY"`);
  });
});

describe('a session with a damaged call', () => {
  it('shows the others, and the damaged one as a line', () => {
    const place = mkdtempSync(join(tmpdir(), 'obx-cli-partly-'));
    const recording = new Recording(join(place, '.orangebox'));
    const session = (seq: number): { id: string; seq: number; basis: 'declared' } => ({
      id: 's',
      seq,
      basis: 'declared',
    });
    for (const [seq, word] of ['first', 'marked', 'third'].entries()) {
      const messages = [{ role: 'user', content: `${word} \ud800 question` }];
      recording.call({
        session: session(seq),
        agoMs: 9000 - seq * 1000,
        request: { model: 'm', messages },
        response: chatAnswer({ content: `${word} answer` }),
      });
    }
    const bytes = recording.bytes();
    bytes.write('market', bytes.indexOf('marked answer'));
    recording.write(bytes);
    const result = cli(['show', 's'], { cwd: place });
    expect(result.stdout).toMatch(/first answer[^]*third answer/);
    expect(result.stdout).not.toContain('market');
    expect(result.stdout).toMatch(/^● m {2}[0-9a-f]{6} {2}200 [^]*digest/m);
    expect(result.code).toBe(0);
    rmSync(place, { recursive: true });
  });
});

describe('fetch', () => {
  it('writes a private file with the digest that was recorded, and overwrites only when forced', () => {
    const file = join(cwd, 'kept.json');
    out('fetch', run.first.id, '-o', file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ digest: run.first.digest });
    expect(cli(['fetch', run.second.id, '-o', file], { cwd }).code).toBe(6);
    expect(cli(['fetch', run.second.id, '-o', file, '--force'], { cwd }).code).toBe(0);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ digest: run.second.digest });
  });

  it('takes a directory, and - for standard output', () => {
    expect(out('fetch', run.first.id, '-o', cwd).trim()).toBe(join(cwd, `${run.first.id.slice(0, 6)}.snapshot.json`));
    expect(JSON.parse(out('fetch', run.first.id, '-o', '-'))).toMatchObject({ id: run.first.id });
  });
});

/** Text that would act on a terminal or hide from a reader. */
const HOSTILE = '\u001b[2J\u001b]0;owned\u0007\u009b31m\u202egpj.exe\u2066\u{e0041}\u200b\rok\u0000';
const ACTS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u202a-\u202e\u2066-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/u;

describe('a hostile recording', () => {
  it('cannot act on the terminal from any of its fields, in any form', () => {
    const place = mkdtempSync(join(tmpdir(), 'obx-cli-hostile-'));
    const recording = new Recording(join(place, '.orangebox'));
    recording.process.serviceName = `svc${HOSTILE}`;
    const call = recording.call({
      url: `https://evil.example/v1/chat/completions?x=${HOSTILE}`,
      requestHeaders: [
        ['content-type', 'application/json'],
        [`x-${HOSTILE}`, HOSTILE],
      ],
      request: {
        model: `m${HOSTILE}`,
        messages: [{ role: `user${HOSTILE}`, content: HOSTILE }],
        tools: [{ type: 'function', function: { name: HOSTILE } }],
      },
      responseHeaders: [
        ['content-type', 'application/json'],
        ['x-y', HOSTILE],
      ],
      response: chatAnswer({
        content: `text ${HOSTILE}`,
        toolCalls: [
          { id: HOSTILE, name: `t${HOSTILE}`, arguments: JSON.stringify({ [HOSTILE]: `${HOSTILE}\n${HOSTILE}` }) },
        ],
      }),
      session: { id: `s${HOSTILE}`, seq: 1, basis: 'declared', userId: HOSTILE },
      scope: [{ kind: 'agent', name: HOSTILE, id: 'a' }],
      error: { type: HOSTILE, message: HOSTILE, code: HOSTILE },
      earlierAttempts: [{ ending: 'reset', error: { type: HOSTILE, message: HOSTILE } }],
    });
    recording.tool(
      {
        basis: 'wrapped',
        name: HOSTILE,
        arguments: HOSTILE,
        result: HOSTILE,
        error: { stage: 'done', type: HOSTILE, message: HOSTILE },
      },
      { traceId: call.trace.traceId, parentSpanId: call.id },
    );
    recording.write();
    const id = call.id;
    for (const args of [
      [],
      ['--json'],
      ['ls'],
      ['ls', '--json'],
      ['show', id],
      ['show', id, '--all'],
      ['show', id, '--json'],
      ['show', id, '--http'],
      ['show', id, '--curl'],
      ['show', call.trace.traceId],
      ['doctor'],
    ]) {
      const result = cli(args, { cwd: place });
      expect(result.stdout + result.stderr, args.join(' ')).not.toMatch(ACTS);
      expect(result.stdout.length, args.join(' ')).toBeGreaterThan(0);
    }
    rmSync(place, { recursive: true });
  });

  it('of a huge message is shown at once', () => {
    const place = mkdtempSync(join(tmpdir(), 'obx-cli-huge-'));
    const recording = new Recording(join(place, '.orangebox'));
    const huge = 'a word '.repeat(1_000_000);
    recording.call({
      request: { model: 'm', messages: [{ role: 'user', content: huge }] },
      response: chatAnswer({ content: 'short' }),
    });
    recording.write();
    const result = cli(['show', 'last'], { cwd: place });
    expect(result.stdout).toContain('short');
    expect(result.stdout.length).toBeGreaterThan(huge.length - 10);
    rmSync(place, { recursive: true });
  });
});
