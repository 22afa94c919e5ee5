import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { VERDICT_EXIT_CODE } from '@orangebox/replay';
import { OrangeboxError } from '@orangebox/schema';
import pc from 'picocolors';
import { describe, expect, it } from 'vitest';
import { EXIT, exitCodeOf } from './exit-codes.ts';
import { reportError } from './report-error.ts';

const CODES: readonly (readonly [code: `OBX_${string}`, exit: keyof typeof EXIT])[] = [
  ['OBX_CLI_USAGE', 'usage'],
  ['OBX_REF_AMBIGUOUS', 'usage'],
  ['OBX_REF_TOO_SHORT', 'usage'],
  ['OBX_REF_UNKNOWN', 'notFound'],
  ['OBX_REF_NOTHING_RECORDED', 'notFound'],
  ['OBX_DIR_NOT_FOUND', 'notFound'],
  ['OBX_STORE_NOT_FOUND', 'notFound'],
  ['OBX_SNAPSHOT_LOST', 'notFound'],
  ['OBX_SNAPSHOT_NOT_KEPT', 'notFound'],
  ['OBX_SNAPSHOT_DIGEST', 'damaged'],
  ['OBX_SNAPSHOT_VERSION', 'damaged'],
  ['OBX_SNAPSHOT_NOT_A_RECORDING', 'damaged'],
  ['OBX_SEGMENT_VERSION', 'damaged'],
  ['OBX_SEGMENT_MAGIC', 'damaged'],
  ['OBX_SEGMENT_TORN', 'damaged'],
  ['OBX_STORE_UNREADABLE', 'unreadable'],
  ['OBX_STORE_UNWRITABLE', 'unreadable'],
  ['OBX_STORE_IO', 'unreadable'],
  ['OBX_STORE_SINCE_REQUIRED', 'usage'],
  ['OBX_STORE_URL', 'usage'],
  ['OBX_STORE_UNREACHABLE', 'network'],
  ['OBX_STORE_DENIED', 'unreadable'],
  ['OBX_STORE_FULL', 'unreadable'],
  ['OBX_SOURCE_URL', 'usage'],
  ['OBX_SOURCE_UNREACHABLE', 'network'],
  ['OBX_SOURCE_ANSWER', 'network'],
  ['OBX_SOURCE_DENIED', 'unreadable'],
  ['OBX_SNAPSHOT_NOT_ARRIVED', 'notFound'],
  ['OBX_CONFIG_INVALID', 'usage'],
  ['OBX_CONFIG_NOT_FOUND', 'notFound'],
  ['OBX_CONFIG_UNREADABLE', 'unreadable'],
  ['OBX_DIR_UNREADABLE', 'unreadable'],
  ['OBX_FILE_NOT_WRITABLE', 'unreadable'],
  ['OBX_FILE_EXISTS', 'refused'],
  ['OBX_CONFIRM_REQUIRED', 'refused'],
  ['OBX_RESEND_DECLINED', 'refused'],
  ['OBX_CURL_REFUSED', 'refused'],
  ['OBX_REPLAY_NO_RESPONSE', 'notFound'],
  ['OBX_REPLAY_NO_SDK', 'notFound'],
];

/** Codes that the sources of a package name whole. */
function codesIn(name: string): string[] {
  const directory = fileURLToPath(new URL(`../../../${name}/src`, import.meta.url));
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' });
  const sources = files.filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'));
  return sources.flatMap(
    (file) => readFileSync(join(directory, file), 'utf8').match(/(?<=')OBX_[A-Z_]*[A-Z](?=')/g) ?? [],
  );
}

describe('exit codes', () => {
  it('know every code, so that none of them reads as a fault of Orangebox', () => {
    const codes = new Set(['schema', 'codec', 'store', 'replay', 'server', 'recorder', 'orangebox'].flatMap(codesIn));
    expect(codes.size).toBeGreaterThan(40);
    const unknown = [...codes].filter((code) => exitCodeOf(new OrangeboxError(code as 'OBX_', 'x')) === EXIT.internal);
    expect(unknown).toEqual([]);
  });

  it.each(CODES)('%s ends with "%s"', (code, exit) => {
    expect(exitCodeOf(new OrangeboxError(code, 'x'))).toBe(EXIT[exit]);
  });

  it('an error that another copy of our classes made is coded as well', () => {
    const foreign = Object.assign(new Error('no'), { code: 'OBX_RECOVER_NOT_WRITABLE', hint: 'do this' });
    expect(exitCodeOf(foreign)).toBe(EXIT.unreadable);
    const lines: string[] = [];
    const terminal = { note: (line: string) => void lines.push(line), errorColors: pc.createColors(false) };
    expect(reportError(foreign, terminal, false)).toBe(EXIT.unreadable);
    expect(lines).toEqual(['orangebox: no [OBX_RECOVER_NOT_WRITABLE]', '  hint: do this']);
  });

  it('a system error has the code of what it means', () => {
    const fault = (code: string): Error => Object.assign(new Error(code), { code });
    expect(exitCodeOf(fault('EACCES'))).toBe(EXIT.unreadable);
    expect(exitCodeOf(new Error('fetch failed', { cause: fault('ECONNREFUSED') }))).toBe(EXIT.network);
    expect(exitCodeOf(new TypeError('x is not a function'))).toBe(EXIT.internal);
  });
});

it('has the codes of the verdicts on replays of a run', () => {
  expect(VERDICT_EXIT_CODE).toEqual({
    replayed: EXIT.ok,
    damaged: EXIT.damaged,
    diverged: EXIT.diverged,
    output_differs: EXIT.outputDiffers,
    incomplete: EXIT.incomplete,
    nothing_served: EXIT.nothingServed,
    wrong_program: EXIT.wrongProgram,
    wrong_runtime: EXIT.wrongRuntime,
    not_sealed: EXIT.notSealed,
  });
});
