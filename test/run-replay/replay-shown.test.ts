/** What is said of a replay has no character of a recording's that steers a terminal, and is XML where it is said to be. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SegmentRecord } from '@orangebox/schema';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startCli } from '../cli/spawn.ts';
import { cleanUp, type RecordedProgram, recordProgram } from './harness.ts';
import { rewriteRecording } from './replay-rewrite.ts';

/** The title and clipboard of a terminal, a turned direction, hidden characters, an end of what stands around it in XML. */
const HOSTILE =
  '\u001b]0;title\u0007\u001b]52;c;eA==\u0007\u009b2J\u202eabc\u2066\u200b\u200f\u061c\u{e0041}\ud800\r\n]]>"<&\u0000\ufffe';
const UNSAFE = /(?![\n\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
/** What XML 1.0 can have. */
const XML = /^[\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]*$/u;

let run: RecordedProgram;

beforeAll(async () => {
  run = await recordProgram({ file: 'replay-hostile.mjs' });
  rewriteRecording(run.directory, (record): SegmentRecord | SegmentRecord[] => {
    switch (record.type) {
      case 'runStart': {
        const values = { ...record.environment.values, LANG: HOSTILE, [`X${HOSTILE}`]: HOSTILE };
        return { ...record, node: HOSTILE, argv: [HOSTILE], environment: { ...record.environment, values } };
      }
      case 'exchangeStart':
        return { ...record, url: `http://h/${HOSTILE}`, scope: [{ kind: 'agent', name: HOSTILE, id: HOSTILE }] };
      case 'requestHead':
        return { ...record, headers: [...record.headers, ['x-hostile', HOSTILE]] };
      case 'draws':
        return {
          ...record,
          draws: record.draws.map((draw) => ({ ...draw, source: `Date ${HOSTILE}`, value: 1, at: HOSTILE })),
        };
      case 'child':
        return { ...record, file: HOSTILE, argv: [HOSTILE], cwd: HOSTILE };
      case 'runEnd':
        return [
          { type: 'notReplayable', what: HOSTILE, count: 1 },
          { ...record, stdout: { sha256: HOSTILE, sizeBytes: 1 } },
        ];
      default:
        return record;
    }
  });
});
afterAll(cleanUp);

describe('what a hostile recording has said of itself', () => {
  it('comes to the terminal as harmless text', async () => {
    const { stderr, code } = await run.replay();
    expect(code).toBe(15);
    expect(stderr).toContain('diverged at step 1');
    expect(stderr).toContain('title');
    expect(stderr).not.toMatch(UNSAFE);
    const json = await run.replay({ options: ['--json'] });
    expect(json.stderr).not.toMatch(UNSAFE);
    const [line = ''] = json.stderr.split('\n').filter((one) => one.startsWith('{'));
    expect(JSON.stringify(JSON.parse(line))).toContain('title');
  });

  it('comes to CI as harmless text, JSON and XML', async () => {
    const env = { OPENAI_API_KEY: 'sk-other-0123456789', OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' };
    const command = ['--', process.execPath, 'replay-hostile.mjs'];
    for (const options of [[], ['--json']]) {
      const args = ['check', '.orangebox', '--junit', 'junit.xml', ...options, ...command];
      const { stdout, stderr, code } = await startCli(args, { cwd: run.directory, env }).ended;
      expect([code, stderr]).toEqual([15, '']);
      expect(stdout).toContain('title');
      expect(stdout).not.toMatch(UNSAFE);
    }
    const xml = readFileSync(join(run.directory, 'junit.xml'), 'utf8');
    expect(xml).toMatch(XML);
    expect(xml).not.toMatch(UNSAFE);
    expect(xml).toContain('title');
    // Nothing of it is markup: only ours is.
    expect(xml.match(/<(?!\/?(?:testsuites|testsuite|testcase|failure|error)\b|\?xml)[^>]*>/g)).toBeNull();
    expect(xml.replace(/&#\d+;/g, '').includes('&')).toBe(false);
  });
});
