/** What differs between a terminal and a pipe: colour, tables, next commands, questions. */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AgentRun, Recording, writeAgentRun } from './recordings.ts';
import { CLI, cleanEnv, cli, cliOnTerminal, hasTerminal, plain } from './spawn.ts';

let cwd: string;
let run: AgentRun;

beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'obx-cli-tty-'));
  run = writeAgentRun(join(cwd, '.orangebox'));
});

afterAll(() => rmSync(cwd, { recursive: true, force: true }));

const ESCAPES = '\u001b[';

describe('in a pipe', () => {
  it('nothing is coloured and no next command follows', () => {
    for (const args of [[], ['ls'], ['show', 'last'], ['show', run.sessionId]]) {
      const { stdout } = cli(args, { cwd });
      expect(stdout).not.toContain(ESCAPES);
      expect(stdout).not.toContain('orangebox replay');
    }
  });

  it('FORCE_COLOR colours all the same, and NO_COLOR wins over it', () => {
    expect(cli(['show', 'last'], { cwd, env: { FORCE_COLOR: '1' } }).stdout).toContain(ESCAPES);
    expect(cli(['show', 'last'], { cwd, env: { FORCE_COLOR: '0' } }).stdout).not.toContain(ESCAPES);
    expect(cli(['show', 'last'], { cwd, env: { FORCE_COLOR: '1', NO_COLOR: '1' } }).stdout).not.toContain(ESCAPES);
  });

  it('a reader that goes away ends the command quietly', async () => {
    const place = mkdtempSync(join(tmpdir(), 'obx-cli-pipe-'));
    const recording = new Recording(join(place, '.orangebox'));
    recording.call({
      request: { model: 'm', messages: [{ role: 'user', content: 'x'.repeat(4_000_000) }] },
      response: {},
    });
    recording.write();
    const child = spawn(process.execPath, [CLI, 'show', 'last', '--json'], {
      cwd: place,
      env: cleanEnv(),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.stdout.once('data', () => child.stdout.destroy());
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect(stderr).toBe('');
    expect(code).toBe(0);
    rmSync(place, { recursive: true });
  });
});

describe.skipIf(!hasTerminal)('on a terminal', () => {
  it('ls is a coloured table with a header that fits the width', async () => {
    for (const columns of [60, 80, 140]) {
      const { stdout, code } = await cliOnTerminal(['ls'], { cwd, columns });
      expect(code).toBe(0);
      expect(stdout).toContain(ESCAPES);
      const lines = plain(stdout).trimEnd().split('\n');
      expect(lines[0]).toMatch(/^ref +age .*model .*kept/);
      const table = lines.slice(0, 6);
      for (const line of table) expect([...line].length).toBeLessThanOrEqual(columns);
      expect(plain(stdout)).toMatch(/orangebox show [0-9a-f]{6}/);
    }
  });

  it('show wraps to the width and ends with the next commands', async () => {
    const place = mkdtempSync(join(tmpdir(), 'obx-cli-wrap-'));
    const recording = new Recording(join(place, '.orangebox'));
    const call = recording.call({
      request: {
        model: 'm',
        messages: [{ role: 'user', content: 'Lorem ipsum dolor sit amet, consectetur adipiscing elit. '.repeat(20) }],
      },
      response: { choices: [{ index: 0, message: { role: 'assistant', content: '世界'.repeat(100) } }] },
    });
    recording.write();
    const { stdout } = await cliOnTerminal(['show', 'last'], { cwd: place, columns: 72 });
    const lines = plain(stdout).split('\n');
    for (const line of lines) expect(line.replace(/[\u3000-\u9fff]/g, 'xx').length, line).toBeLessThanOrEqual(72);
    expect(plain(stdout)).toContain(`orangebox replay ${call.id.slice(0, 6)}`);
    rmSync(place, { recursive: true });
  });

  it('NO_COLOR and a dumb terminal are not coloured', async () => {
    for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }]) {
      const { stdout } = await cliOnTerminal(['show', 'last'], { cwd, env });
      expect(stdout).not.toContain(`${ESCAPES}3`);
    }
  });

  it('--raw shows the text escaped instead of writing the bytes', async () => {
    const place = mkdtempSync(join(tmpdir(), 'obx-cli-raw-'));
    const recording = new Recording(join(place, '.orangebox'));
    recording.call({ response: 'evil \u001b[2J text' });
    recording.write();
    expect((await cliOnTerminal(['show', 'last', '--raw'], { cwd: place })).stdout).toContain('evil \\x1b[2J text');
    expect(cli(['show', 'last', '--raw'], { cwd: place }).stdout).toBe('evil \u001b[2J text');
    rmSync(place, { recursive: true });
  });

  it('purge asks, deletes nothing for a no, and what was named for a yes', async () => {
    const place = mkdtempSync(join(tmpdir(), 'obx-cli-purge-'));
    const { sessionId } = writeAgentRun(join(place, '.orangebox'));
    const no = await cliOnTerminal(['purge', '--session', sessionId], { cwd: place, stdin: 'n\n' });
    expect(plain(no.stdout)).toContain('Delete 3 recordings');
    expect(plain(no.stdout)).toContain('nothing was deleted');
    expect(no.code).toBe(6);
    expect(JSON.parse(cli(['ls', '--json'], { cwd: place }).stdout)).toHaveLength(5);
    const yes = await cliOnTerminal(['purge', '--session', sessionId], { cwd: place, stdin: 'y\n' });
    expect(plain(yes.stdout)).toContain('3 recordings deleted');
    expect(yes.code).toBe(0);
    expect(JSON.parse(cli(['ls', '--json'], { cwd: place }).stdout)).toHaveLength(2);
    rmSync(place, { recursive: true });
  });
});

describe('purge with --yes', () => {
  it('deletes by user and by time, and says how much', () => {
    const place = mkdtempSync(join(tmpdir(), 'obx-cli-purge2-'));
    writeAgentRun(join(place, '.orangebox'));
    expect(JSON.parse(cli(['purge', '--user', 'mia', '--yes', '--json'], { cwd: place }).stdout)).toMatchObject({
      deleted: 3,
      kept: 0,
    });
    expect(cli(['purge', '--before', '150s', '--yes'], { cwd: place }).stdout).toContain('1 recording deleted');
    expect(JSON.parse(cli(['ls', '--json'], { cwd: place }).stdout)).toHaveLength(1);
    expect(cli(['purge', '--before', '1d', '--yes'], { cwd: place }).stdout).toContain('nothing matches');
    rmSync(place, { recursive: true });
  });
});

describe('doctor', () => {
  it('follows no link out of the directory', () => {
    const [place, elsewhere] = [1, 2].map(() => mkdtempSync(join(tmpdir(), 'obx-cli-doctor-'))) as [string, string];
    for (const name of ['a', 'b']) writeFileSync(join(elsewhere, name), 'open to all', { mode: 0o644 });
    mkdirSync(join(place, 'objects'), { mode: 0o700 });
    symlinkSync(elsewhere, join(place, 'objects', 'v1'));
    writeFileSync(join(place, '.gitignore'), '*');
    const { stdout } = cli(['doctor', '--json', '--dir', place], { cwd: place });
    expect(stdout).toContain('only you can read it; git leaves it out');
    for (const path of [place, elsewhere]) rmSync(path, { recursive: true });
  });

  it('finds nothing wrong with a good recording', () => {
    const { stdout, code } = cli(['doctor'], { cwd });
    expect(stdout).toMatch(/✓ lost +no promised snapshot is missing/);
    expect(stdout).not.toContain('✗');
    expect(code).toBe(0);
  });

  it('names the places elsewhere, asks nothing of them, and finds a fault in what names them', () => {
    const env = { ORANGEBOX_SOURCE: 'http://me:word@127.0.0.1:9', ORANGEBOX_STORE: 's3://bucket/prefix' };
    const named = cli(['doctor'], { cwd, env });
    expect(named.stdout).toContain('http://127.0.0.1:9 (ORANGEBOX_SOURCE), s3://bucket/prefix (ORANGEBOX_STORE)');
    expect(named.stdout).toContain('orangebox doctor --since 1h compares the two');
    expect(named.stdout).not.toContain('word');
    expect(named.code).toBe(0);
    const wrong = cli(['doctor'], {
      cwd: tmpdir(),
      env: { ORANGEBOX_CONTEXT: 'nowhere', ORANGEBOX_DIR: join(cwd, 'none') },
    });
    expect(wrong.stdout).toMatch(/✗ elsewhere +ORANGEBOX_CONTEXT names "nowhere"/);
    expect(wrong.code).toBe(1);
  });

  it('knows the variables of the shipped collector files, which may be set in the same shell', () => {
    const env = {
      ORANGEBOX_JAEGER_URL: 'http://127.0.0.1:14318',
      ORANGEBOX_LISTEN: '::1',
      ORANGEBOX_ARCHIVER_URL: 'x',
    };
    expect(cli(['doctor'], { cwd, env }).stdout).not.toContain('means nothing');
  });

  it('tells nothing recorded from nothing kept, as does the state', () => {
    const place = mkdtempSync(join(tmpdir(), 'obx-cli-sampled-'));
    const recording = new Recording(join(place, '.orangebox'));
    recording.add({ type: 'dropped', reason: 'not_sampled', count: 7 });
    recording.write();
    const state = cli([], { cwd: place }).stdout;
    expect(state).toContain('nothing is kept');
    expect(state).toContain('7 calls and tool runs not kept, as ORANGEBOX_SAMPLE or the level says');
    expect(JSON.parse(cli(['--json'], { cwd: place }).stdout)).toMatchObject({ calls: 0, notSampled: 7 });
    expect(cli(['show', 'last'], { cwd: place }).stderr).toContain('orangebox doctor says what was left out');
    rmSync(place, { recursive: true });
  });

  it('finds drops, losses, open permissions and misspelt variables', () => {
    const place = mkdtempSync(join(tmpdir(), 'obx-cli-doctor-'));
    const recording = new Recording(join(place, '.orangebox'));
    recording.call({ response: { marked: 'marked answer' } });
    recording.add({ type: 'dropped', reason: 'disk_full', count: 3 });
    recording.add({ type: 'dropped', reason: 'not_sampled', count: 7 });
    const bytes = recording.bytes();
    bytes.write('market', bytes.indexOf('marked answer'));
    recording.write(bytes);
    const { stdout, code } = cli(['doctor', '--json'], {
      cwd: place,
      env: { ORANGEBOX_ENDPIONT: 'x', ORANGEBOX_LEVEL: 'loud' },
    });
    const checks = JSON.parse(stdout) as { name: string; result: string; message: string; hint?: string }[];
    expect(checks).toContainEqual(
      expect.objectContaining({ name: 'drops', result: 'problem', message: 'disk full 3×' }),
    );
    expect(checks).toContainEqual(
      expect.objectContaining({ name: 'sampling', result: 'ok', message: expect.stringContaining('7 calls') }),
    );
    expect(checks.filter((check) => check.result === 'problem').length).toBeGreaterThanOrEqual(2);
    expect(checks).toContainEqual(
      expect.objectContaining({
        message: 'ORANGEBOX_ENDPIONT means nothing',
        hint: 'did you mean ORANGEBOX_ENDPOINT?',
      }),
    );
    expect(checks.some((check) => check.message.includes('ORANGEBOX_LEVEL'))).toBe(true);
    expect(code).toBe(1);
    rmSync(place, { recursive: true });
  });
});
