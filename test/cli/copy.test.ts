/** `copy`: from recordings to a bucket, on to a directory and back, again after an end in between. */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { snapshotKey } from '@orangebox/schema';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AgentRun, Recording, writeAgentRun } from './recordings.ts';
import { type CliResult, cli } from './spawn.ts';

let base: string;
let run: AgentRun;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'obx-cli-copy-'));
  run = writeAgentRun(join(base, 'app', '.orangebox'));
});

afterEach(() => rmSync(base, { recursive: true, force: true }));

const copy = (...args: string[]): CliResult => cli(['copy', ...args], { cwd: base, env: { XDG_CONFIG_HOME: base } });

const objectOf = (place: string, key: string): string => join(base, place, key, 'snapshot.json.gz');

describe('copy', () => {
  it('writes every recording under its key, with the index that lists show, and a second run does nothing', () => {
    const first = copy('app/.orangebox', 'bucket');
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(first.stdout).toMatch(/^5 recordings copied to .*bucket, 0 there already, 0 failed\n$/);
    for (const call of [run.first, run.second, run.tool, run.streamed, run.failed])
      expect(existsSync(objectOf('bucket', snapshotKey(call)))).toBe(true);
    const listed = cli(['ls', '--store', `file://${join(base, 'bucket')}`, '--since', '2h'], { cwd: base });
    expect(listed.stdout.trimEnd().split('\n')).toHaveLength(5);
    expect(copy('app', 'bucket').stdout).toContain('0 recordings copied');
    expect(copy('app', 'bucket').stdout).toContain('5 there already');
  });

  it('says that runs of whole programs stay where they are', () => {
    const golden = readFileSync(new URL('../golden/v1/run.obxs', import.meta.url));
    mkdirSync(join(base, 'app', '.orangebox', 'segments', '2026-12-01'), { recursive: true });
    writeFileSync(join(base, 'app', '.orangebox', 'segments', '2026-12-01', 'box-7-0-1796120000000-0.obxs'), golden);
    expect(copy('app', 'bucket').stderr).toContain('1 run of whole programs is not copied');
    expect(JSON.parse(copy('app', 'bucket', '--json').stdout)).toMatchObject({ runsNotCopied: 1, failed: [] });
  });

  it('says why what was copied is still called not sent, where a program sent others', () => {
    const recording = new Recording(join(base, 'sender', '.orangebox'));
    const [sent] = [recording.call({}), recording.call({}), recording.call({})];
    recording.add({ type: 'shipped', key: snapshotKey(sent) });
    recording.write();
    const first = copy('sender', 'bucket');
    expect(first).toMatchObject({ code: 0 });
    expect(first.stderr).toContain('2 of them stay "not sent" in orangebox');
    expect(copy('sender', 'bucket').stderr).toBe(first.stderr);
    expect(cli([], { cwd: join(base, 'sender') }).stdout).toContain('2 not sent');
    expect(copy('bucket', 'second').stderr).toBe('');
  });

  it('goes on where it was ended: what is there is left alone, what lists did not show yet is shown', () => {
    copy('app', 'bucket');
    rmSync(join(base, 'bucket', 'index'), { recursive: true });
    rmSync(join(base, 'bucket', snapshotKey(run.second)), { recursive: true });
    writeFileSync(join(base, 'bucket', snapshotKey(run.first), 'part-0000000000000000-0000-of-0002'), 'half');
    const again = copy('app', 'bucket', '--json');
    expect(JSON.parse(again.stdout)).toEqual({ copied: 1, alreadyThere: 4, failed: [], gaveUp: false });
    const listed = cli(['ls', '--store', `file://${join(base, 'bucket')}`, '--since', '2h', '--json'], { cwd: base });
    expect(JSON.parse(listed.stdout)).toHaveLength(5);
  });

  it('takes filters, and copies from objects to objects and into recordings', () => {
    expect(copy('app', 'bucket', '--session', run.sessionId).stdout).toContain('3 recordings copied');
    expect(copy('bucket', 'second', '--model', 'gpt-4o-mini', '--kind', 'llm').stdout).toContain('2 recordings copied');
    mkdirSync(join(base, 'other'));
    expect(copy('second', 'other/.orangebox').stdout).toContain('2 recordings copied');
    const shown = cli(['show', run.second.id.slice(0, 6)], { cwd: join(base, 'other') });
    expect(shown.stdout).toContain('Take one to Oslo.');
    expect(copy('bucket', 'other/.orangebox').stdout).toContain('1 recording copied');
  });

  it('names what is damaged, copies the rest, and ends with 4', () => {
    copy('app', 'bucket');
    const path = objectOf('bucket', snapshotKey(run.first));
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.subarray(0, bytes.length / 2));
    const result = copy('bucket', 'second');
    expect(result.code).toBe(4);
    expect(result.stdout).toContain('4 recordings copied');
    expect(result.stderr).toContain(snapshotKey(run.first));
    expect(existsSync(objectOf('second', snapshotKey(run.first)))).toBe(false);
  });

  it('copies what has ended and not what runs', () => {
    const recording = new Recording(join(base, 'live', '.orangebox'));
    recording.call({ response: {} });
    recording.call({ crashed: true });
    recording.write(recording.bytes(false));
    expect(JSON.parse(copy('live', 'bucket', '--json').stdout)).toMatchObject({ copied: 1, failed: [] });
    // The process has ended, and what it had begun is kept as far as it came.
    recording.write();
    expect(JSON.parse(copy('live', 'bucket', '--json').stdout)).toMatchObject({ copied: 1, alreadyThere: 1 });
  });

  it('refuses what is no place, and one place for both', () => {
    expect(copy('nothing-here', 'bucket').code).toBe(3);
    expect(existsSync(join(base, 'bucket'))).toBe(false);
    expect(copy('app', 'app')).toMatchObject({ code: 2 });
    expect(copy('app', 'https://somewhere/x').code).toBe(2);
    mkdirSync(join(base, 'full'));
    cpSync(join(base, 'app'), join(base, 'full', 'photos'), { recursive: true });
    expect(copy('app', 'full').code).toBe(3);
    expect(readdirSync(join(base, 'full'))).toEqual(['photos']);
    expect(copy('context:none', 'bucket').stderr).toContain('there is no context "none"');
  });

  it('ends with 7 where a store does not answer, and says that it can go on', () => {
    const result = cli(['copy', 'app', 's3://bucket/x'], {
      cwd: base,
      env: {
        XDG_CONFIG_HOME: base,
        AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:9',
        AWS_ACCESS_KEY_ID: 'key',
        AWS_SECRET_ACCESS_KEY: 'hush',
      },
    });
    expect(result.code).toBe(7);
    expect(result.stdout + result.stderr).not.toContain('hush');
    expect(result.stderr).toContain('OBX_STORE_UNREACHABLE');
  });
});

describe('bucket init', () => {
  it('makes a directory, and does nothing the second time', () => {
    const init = (...args: string[]): CliResult =>
      cli(['bucket', 'init', ...args], { cwd: base, env: { XDG_CONFIG_HOME: base } });
    expect(init('made', '--print-only').stdout).toContain('would be set');
    expect(existsSync(join(base, 'made'))).toBe(false);
    expect(init('made')).toMatchObject({ code: 0 });
    expect(existsSync(join(base, 'made'))).toBe(true);
    expect(init('made', '--tier', 'COLD')).toMatchObject({ code: 2 });
    expect(init()).toMatchObject({ code: 2 });
    expect(cli(['bucket'], { cwd: base })).toMatchObject({ code: 2 });
  });
});
