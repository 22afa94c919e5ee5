/** `orangebox audit`: nothing on the real build, a sample of the leaks, and commands that fail or are none. The rest: `npm run drill:audit`. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { cliBeside } from '../cli/spawn.ts';
import { allLeaks, auditAll, type AuditResult, type Build, takeBuild } from './audit-build.mjs';

/** One of each kind of place. */
const SAMPLE = [
  'compressed answers not searched',
  'value in a metric attribute',
  'a link that is followed',
  'a connection to another port',
  'Promise.prototype.then replaced',
];
const AT_ONCE = 3;

let build: Build;
let results: AuditResult[];
let cwd: string;

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'obx-audit-test-'));
  build = takeBuild();
  const leaks = (await allLeaks()).filter(({ name }) => SAMPLE.includes(name));
  expect(leaks).toHaveLength(SAMPLE.length);
  results = await auditAll(build, [undefined, ...leaks], AT_ONCE);
}, 300_000);

afterAll(() => {
  build?.remove();
  rmSync(cwd, { recursive: true, force: true });
});

it('finds nothing on the real build, and says what of Orangebox is there', () => {
  const [real] = results;
  expect(real?.report.findings).toEqual([]);
  expect(real?.code).toBe(0);
  expect(real?.stderr).toContain('answers of ');
  expect(real?.report).toMatchObject({ clean: true, command: { code: 0, signal: null }, programCalls: 2 });
  expect(real?.report.present).toMatchObject({ filesWritten: [], said: [] });
  expect(real?.report.present['listeners']).toEqual(['SIGINT', 'SIGTERM', 'beforeExit', 'exit']);
  const program = real?.report.processes.find(({ seeds }) => !seeds);
  expect(program?.cost.recorded).toBe(2);
  expect(program?.cost.registerMs).toBeGreaterThan(0);
});

for (const name of SAMPLE) {
  it(`finds a build with ${name}`, () => {
    const result = results.find(({ leak }) => leak?.name === name);
    expect({ found: result?.found, findings: result?.report.findings }).toMatchObject({ found: true });
  });
}

it('has thirty leaks, and each finds its anchor in the build', async () => {
  const leaks = await allLeaks();
  expect(leaks).toHaveLength(30);
  expect(new Set(leaks.map(({ name }) => name)).size).toBe(30);
  for (const leak of leaks) expect(build.anchored(leak), leak.name).toBe(true);
});

it('tells the failure of the command apart, and the command that is no Node.js program', async () => {
  const file = join(cwd, 'fails.cjs');
  writeFileSync(file, 'process.exitCode = 3;');
  const [failed, foreign, missing] = await Promise.all([
    cliBeside(['audit', '--json', '--', process.execPath, file], { cwd }),
    cliBeside(['audit', '--', '/bin/true'], { cwd }),
    cliBeside(['audit', '--', './nowhere'], { cwd }),
  ]);
  const report = JSON.parse(failed.stdout) as { command: object; findings: { kind: string }[] };
  expect(failed.code).toBe(1);
  expect(report.command).toEqual({ code: 3, signal: null });
  expect(report.findings).toEqual([{ kind: 'command_failed', message: expect.stringContaining('exit code 3') }]);
  expect(foreign.code).toBe(1);
  expect(foreign.stdout).toContain('no process of the command loaded Orangebox');
  expect(missing.code).toBe(127);
}, 120_000);
