import { describe, expect, it } from 'vitest';
import { type CheckedRun, checkExitCode, checkSummary, junitXml } from './checked-runs.ts';
import type { Receipt, ReceiptVerdict } from './types.ts';
import { VERDICT_EXIT_CODE } from './verdict.ts';

function run(verdict: ReceiptVerdict, finding?: string): CheckedRun {
  const receipt = {
    run: { id: 'run-1', digest: 'd' }, command: ['node', 'a.mjs'], versions: [], outcome: [], rules: [], refused: [], notReplayable: [], warnings: [],
    code: { entry: { name: 'entry' }, digest: { name: 'digest' } }, rungs: { exact: 1, canonical: 0, unified: 0, rule: 0 },
    recordedRequests: 1, extra: 0, missing: 0, liveConnections: 0, processes: { served: 0, started: 0 }, isInstrumented: true, served: 1,
    verdict, exitCode: VERDICT_EXIT_CODE[verdict], findings: finding === undefined ? [] : [finding],
  } satisfies Receipt; // biome-ignore format: members
  return { runId: 'run-1', place: 'recordings/a', durationMs: 1234, receipt };
}

const refused: CheckedRun = {
  runId: 'run-2',
  place: 'recordings/b',
  durationMs: 5,
  error: { code: 'OBX_SEGMENT_MAGIC', message: 'no "segment" & <nothing>', exitCode: 4 },
};

describe('a check', () => {
  it('ends well only where every run was replayed', () => {
    expect(checkExitCode([run('replayed'), run('replayed')])).toBe(0);
    expect(checkExitCode([run('replayed'), run('output_differs')])).toBe(11);
    expect(checkExitCode([run('output_differs'), run('diverged'), run('incomplete')])).toBe(10);
    expect(checkExitCode([run('diverged'), run('not_sealed')])).toBe(16);
    expect(checkExitCode([run('diverged'), refused])).toBe(4);
  });

  it('weighs every verdict that a receipt can have', () => {
    for (const [verdict, code] of Object.entries(VERDICT_EXIT_CODE)) {
      expect(checkExitCode([run('replayed'), run(verdict as ReceiptVerdict)])).toBe(code);
    }
  });

  it('says a line for each recording and the counts', () => {
    expect(checkSummary([run('replayed'), run('diverged', 'step 2: \u001b[2J'), refused])).toBe(`\
replayed       run-1  recordings/a  1.234 s
diverged       run-1  recordings/a  1.234 s: step 2: \\u001b[2J
OBX_SEGMENT_MAGIC run-2  recordings/b  0.005 s: no "segment" & <nothing>

1 run replayed, 2 failed
`);
  });

  it('is a test suite for CI, whatever a recording says', () => {
    const xml = junitXml([run('replayed'), run('diverged', 'step "2" <a> & \u0000\ud800'), refused]);
    expect(xml.split('\n').slice(0, 6)).toEqual([
      '<?xml version="1.0" encoding="UTF-8"?>',
      '<testsuites tests="3" failures="1" errors="1" time="2.473">',
      '  <testsuite name="orangebox check" tests="3" failures="1" errors="1" time="2.473">',
      '    <testcase classname="recordings/a" name="run-1" time="1.234"/>',
      '    <testcase classname="recordings/a" name="run-1" time="1.234">',
      '      <failure type="diverged" message="step &#34;2&#34; &#60;a&#62; &#38; \ufffd\ufffd">not replayed (diverged): run run-1',
    ]);
    expect(xml).toContain(
      '      <error type="OBX_SEGMENT_MAGIC" message="no &#34;segment&#34; &#38; &#60;nothing&#62;"></error>\n    </testcase>\n',
    );
    expect(xml.endsWith('</testsuites>\n')).toBe(true);
  });
});
